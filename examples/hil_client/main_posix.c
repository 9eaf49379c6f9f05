/* A board that is a process: over UDP, a serial port, or a pseudo-terminal that it makes. Without an operating system
 * only this file is replaced: by an interrupt that calls link_receive for each byte and a timer that calls `tick`. */
#define _XOPEN_SOURCE 600
#define _DEFAULT_SOURCE /* B921600 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "law.h"
#include "plant.h"

#define MS 1000000ull /* [ns] */
static const uint64_t TIMEOUT = 100 * MS, HEARTBEAT = 20 * MS, STATE_PERIOD = 2 * MS;
static const double STEP = 1e-3;   /* [s] of the plant */
static const int STEPS = 2;        /* of them from one state to the next */
static const double TILT = 0.1745; /* [rad] at the start */

static const char USAGE[] =
    "usage: hil_client controller|plant (--udp ADDRESS PORT | --serial DEVICE | --pty LINK) [--seconds N] [--patient] [--compact]\n"
    "                                  [--key FILE]\n"
    "  controller    answer states with the force of an LQR        plant   be the pendulum, leaning by 10 degrees\n"
    "  --udp         the bridge's address and port, such as 127.0.0.1 47001\n"
    "  --serial      a serial port, 921600 baud where the system can\n"
    "  --pty         make a pseudo-terminal and LINK to it: the bridge's serial.port\n"
    "  --seconds     end after so long, such as 0.5; else at SIGINT or SIGTERM\n"
    "  --compact     ask for states of half the size, of numbers of 16 bits\n"
    "  --key         take only frames of a bridge that shares the key in this file: 64 hexadecimal digits\n"
    "  --patient     plant: its time stands still until a force answers its state, so that a busy computer does not let it fall\n";

typedef struct {
    int file, is_plant;
    link_end link;
    uint64_t beat, tick; /* [ns] when each is due */
    plant_state plant;
    int patient, held;  /* the plant stands still until a force answers its state: the first, or where it is patient, each */
    uint64_t fresh;     /* stamp [ns] under which the present state was sent first */
    float force[2];
    uint64_t commanded; /* [ns] when that came */
    uint32_t answers;
    uint64_t compute; /* [ns] longest answer */
    uint32_t unsent;
    int compact;
    const char *key;
} board;

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

static void give_up(const char *what)
{
    fprintf(stderr, "hil_client: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* what a board does */

static void transmit(board *b, wire_frame *frame)
{
    uint8_t bytes[WIRE_ENCODED];
    size_t size = link_send(&b->link, now_ns(), frame, bytes);
    if (write(b->file, bytes, size) != (ssize_t)size)
        b->unsent++; /* nobody listens, or no room: the next one will do */
}

static void answer(board *b, const wire_frame *state)
{
    uint64_t begin = now_ns();
    wire_frame frame = {.kind = WIRE_FORCE, .stamp = state->stamp};
    law_force(state->numbers, frame.numbers);
    uint64_t took = now_ns() - begin;
    b->compute = took > b->compute ? took : b->compute;
    b->answers++;
    transmit(b, &frame);
}

static void take(board *b, const wire_frame *frame)
{
    if (frame->kind == WIRE_STATE && !b->is_plant)
        answer(b, frame);
    if (frame->kind == WIRE_FORCE && b->is_plant) {
        memcpy(b->force, frame->numbers, sizeof b->force);
        b->commanded = now_ns();
        b->held &= b->patient ? frame->stamp < b->fresh : frame->stamp == 0;
    }
}

static void measure(board *b, uint64_t now, uint16_t flags)
{
    wire_frame frame = {.kind = WIRE_STATE, .flags = flags, .stamp = now};
    if (!b->held || !b->fresh)
        b->fresh = now;
    for (int i = 0; i < STEPS && !b->held; i++)
        plant_step(&b->plant, b->force, STEP);
    b->held |= b->patient;
    plant_measure(&b->plant, frame.numbers);
    transmit(b, &frame);
    b->tick += STATE_PERIOD;
    if (b->tick < now) /* skip, do not burst */
        b->tick = now + STATE_PERIOD;
}

static void tick(board *b, uint64_t now)
{
    int safe = !link_watch(&b->link, now) || (b->is_plant && now - b->commanded > TIMEOUT);
    if (safe)
        b->force[0] = b->force[1] = 0;
    if (b->is_plant && now >= b->tick)
        measure(b, now, safe ? WIRE_SAFE : 0);
    if (now >= b->beat) {
        wire_frame frame = {.kind = WIRE_HEARTBEAT, .flags = safe ? WIRE_SAFE : 0};
        transmit(b, &frame);
        b->beat = now + HEARTBEAT;
    }
}

static void listen_once(board *b)
{
    struct pollfd waiting = {.fd = b->file, .events = POLLIN};
    uint8_t bytes[2048];
    wire_frame frame;
    int ready = poll(&waiting, 1, 1) > 0;
    ssize_t size = ready ? read(b->file, bytes, sizeof bytes) : 0; /* takes an error, too: else the next write has it */
    if (ready && size <= 0) /* nobody is there, and poll does not wait */
        poll(NULL, 0, 1);
    uint64_t now = now_ns();
    for (ssize_t i = 0; i < size; i++)
        if (link_receive(&b->link, bytes[i], now, &frame))
            take(b, &frame);
}

/* how it is reached */

/* The number of a word; ends the program if it is none, or not from low to high. */
static double number(const char *option, const char *word, double low, double high)
{
    char *end;
    double value = strtod(word, &end);
    if (end == word || *end || !(value >= low && value <= high)) {
        fprintf(stderr, "hil_client: %s is %s; it must be a number from %g to %g\n", option, word, low, high);
        exit(2);
    }
    return value;
}

static int open_udp(const char *address, const char *word)
{
    double port = number("the port of --udp", word, 1, 65535);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (port != (uint16_t)port) {
        fprintf(stderr, "hil_client: the port of --udp is %s; it must be a whole number\n", word);
        exit(2);
    }
    int file = socket(AF_INET, SOCK_DGRAM, 0);
    if (inet_pton(AF_INET, address, &peer.sin_addr) != 1) {
        fprintf(stderr, "hil_client: %s is no IPv4 address; write one such as 127.0.0.1\n", address);
        exit(2);
    }
    if (file < 0 || connect(file, (struct sockaddr *)&peer, sizeof peer))
        give_up(address);
    return file;
}

static void make_raw(int file) /* bytes as they are: no echo, no lines, no signals */
{
    struct termios settings;
    if (tcgetattr(file, &settings))
        give_up("this is no terminal");
    settings.c_iflag = settings.c_oflag = settings.c_lflag = 0;
    settings.c_cflag = CS8 | CREAD | CLOCAL;
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
#ifdef B921600
    cfsetispeed(&settings, B921600);
    cfsetospeed(&settings, B921600);
#endif
    tcsetattr(file, TCSANOW, &settings);
}

static int open_serial(const char *device)
{
    int file = open(device, O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        give_up(device);
    make_raw(file);
    return file;
}

/* Link to a pseudo-terminal. A link that a client left when it was killed leads to none, or to the number that is ours now. */
static void make_link(const char *name, const char *link)
{
    char old[4096];
    ssize_t size = readlink(link, old, sizeof old - 1);
    old[size < 0 ? 0 : size] = 0;
    if (size > 0 && (!strcmp(old, name) || (!strncmp(old, "/dev/pts/", 9) && access(old, F_OK))))
        unlink(link);
    else if (size > 0 && !strncmp(old, "/dev/pts/", 9)) {
        fprintf(stderr, "hil_client: %s leads to %s, which another program uses; end that, or choose another name\n", link, old);
        exit(2);
    }
    if (symlink(name, link))
        give_up(link);
}

static int open_pty(const char *link)
{
    int file = posix_openpt(O_RDWR | O_NOCTTY);
    if (file < 0 || grantpt(file) || unlockpt(file))
        give_up("no pseudo-terminal");
    const char *name = ptsname(file);
    int kept = open(name, O_RDWR | O_NOCTTY); /* so that it stays when the bridge leaves */
    if (kept < 0)
        give_up(name);
    make_link(name, link);
    make_raw(kept);
    fcntl(file, F_SETFL, O_NONBLOCK);
    return file;
}

/* The key in a file that nobody else may read. */
static void read_key(const char *path, uint8_t key[WIRE_KEY])
{
    char text[2 * WIRE_KEY + 16] = ""; /* the key, the end of its line */
    struct stat status;
    FILE *file = fopen(path, "r");
    if (!file || fstat(fileno(file), &status))
        give_up(path);
    if (S_ISREG(status.st_mode) && status.st_mode & (S_IRWXG | S_IRWXO)) {
        fprintf(stderr, "hil_client: the key file %s has mode %03o, so others may use it; `chmod 600 %s`\n", path,
                (unsigned)status.st_mode & 0777, path);
        exit(2);
    }
    size_t size = fread(text, 1, sizeof text - 1, file), digits = strspn(text, "0123456789abcdefABCDEF");
    fclose(file);
    if (digits != 2 * WIRE_KEY || size == sizeof text - 1 || strspn(text + digits, " \r\n") != size - digits) {
        fprintf(stderr, "hil_client: the key file %s must have %d hexadecimal digits\n", path, 2 * WIRE_KEY);
        exit(2);
    }
    for (int i = 0; i < WIRE_KEY; i++) {
        char byte[3] = {text[2 * i], text[2 * i + 1], 0};
        key[i] = (uint8_t)strtoul(byte, NULL, 16);
    }
}

static void use_key(link_end *link, const char *path)
{
    uint8_t key[WIRE_KEY];
    uint64_t nonce = 0;
    FILE *random = fopen("/dev/urandom", "rb");
    read_key(path, key);
    if (!random || !fread(&nonce, sizeof nonce, 1, random))
        give_up("/dev/urandom");
    fclose(random);
    link_key(link, key, nonce);
}

static void report(const board *b)
{
    uint32_t malformed = b->link.forged;
    for (int i = WIRE_BAD_FRAMING; i < WIRE_RESULTS; i++)
        malformed += b->link.results[i];
    printf("{\"accepted\": %lu, \"lost\": %lu, \"old\": %lu, \"malformed\": %lu, \"outages\": %lu, \"unsent\": %lu, "
           "\"answers\": %lu, \"longest_answer_ns\": %lu}\n",
           (unsigned long)b->link.accepted, (unsigned long)b->link.lost, (unsigned long)b->link.old, (unsigned long)malformed,
           (unsigned long)b->link.outages, (unsigned long)b->unsent, (unsigned long)b->answers, (unsigned long)b->compute);
}

/* The words of the command line: opens the port; when to end [ns], 0 for words that are not understood. */
static uint64_t understand(board *b, int count, char **words, const char **pty)
{
    uint64_t end = UINT64_MAX;
    b->file = -1;
    b->held = 1;
    b->is_plant = count > 1 && !strcmp(words[1], "plant");
    if (!b->is_plant && (count < 2 || strcmp(words[1], "controller")))
        return 0;
    for (int i = 2; i < count; i++) {
        int left = count - i - 1;
        if (!strcmp(words[i], "--udp") && left >= 2) {
            b->file = open_udp(words[i + 1], words[i + 2]);
            i += 2;
        } else if (!strcmp(words[i], "--serial") && left) {
            b->file = open_serial(words[++i]);
        } else if (!strcmp(words[i], "--pty") && left) {
            b->file = open_pty(*pty = words[++i]);
        } else if (!strcmp(words[i], "--patient")) {
            b->patient = 1;
        } else if (!strcmp(words[i], "--compact")) {
            b->compact = 1;
        } else if (!strcmp(words[i], "--key") && left) {
            b->key = words[++i];
        } else if (!strcmp(words[i], "--seconds") && left) {
            end = now_ns() + (uint64_t)(1e9 * number("--seconds", words[++i], 0.001, 1e9));
        } else {
            return 0;
        }
    }
    return b->file < 0 ? 0 : end;
}

int main(int count, char **words)
{
    static board b;
    const char *pty = NULL;
    uint64_t end = understand(&b, count, words, &pty);
    if (!end) {
        fputs(USAGE, stderr);
        return 2;
    }
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    link_begin(&b.link, TIMEOUT);
    b.link.compact = b.compact;
    if (b.key)
        use_key(&b.link, b.key);
    plant_lean(&b.plant, TILT);
    while (!stopped && now_ns() < end) {
        listen_once(&b);
        tick(&b, now_ns());
    }
    if (pty)
        unlink(pty);
    report(&b);
    return 0;
}
