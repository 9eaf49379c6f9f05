/* The page: draws the loop of loop.c with three.js, in the look of the live view (look.json, which build.py writes). */
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import { LineSegments2 } from "three/addons/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";
import look from "./look.json";
import wasm from "./loop.wasm";

const PERIOD = 0.002, LONGEST_FRAME = 0.05; // [s]; a browser that takes longer for a picture shows slower motion
const START = 10, FOV = 0.85; // [deg] tilt after a reset; [rad] of the camera, as in the live view
const ARROW = 0.05, FARTHEST = 5, GRID = 25; // [m/N]; [m] of a set point; [m] that the grid reaches
const PLOTTED = 10, TRAIL = 3; // [s]
const SLIDERS = [ // name, label, unit, least, largest, step, default
  ["cart", "Mass of the cart", " kg", 0.5, 10, 0.1, 2],
  ["rod", "Mass of the rod", " kg", 0.1, 5, 0.1, 1],
  ["length", "Length of the rod", " m", 0.4, 4, 0.1, 2.4],
  ["position", "Gain: position", " × design", 0, 3, 0.05, 1],
  ["velocity", "Gain: velocity", " × design", 0, 3, 0.05, 1],
  ["angle", "Gain: tilt", " × design", 0, 3, 0.05, 1],
  ["rate", "Gain: rate of the tilt", " × design", 0, 3, 0.05, 1],
  ["delay", "Delay of the force", " ms", 0, 100, 2, 0],
];
const HINT = "Drag the rod or the cart to pull it. Tap the plane to send the cart there.";
const UP = new THREE.Vector3(0, 0, 1), HEIGHT = look.CART[2], { degToRad, radToDeg } = THREE.MathUtils;
const $ = (id) => document.getElementById(id), vector = (v) => new THREE.Vector3(...v);

function makeScene() {
  const scene = new THREE.Scene(), squares = [];
  const sun = new THREE.DirectionalLight(0xffffff, 2), sky = new THREE.HemisphereLight(0xffffff, 0x9aa4b0, 2.4);
  const add = (geometry, color) => {
    const mesh = new THREE.Mesh(geometry, new THREE.MeshStandardMaterial({ color: `rgb(${color})`, roughness: 0.6 }));
    mesh.castShadow = true;
    scene.add(mesh);
    return mesh;
  };
  const ball = (radius, color) => add(new THREE.IcosahedronGeometry(radius, 4), color);
  const stick = (radius, color, end = radius) =>
    add(new THREE.CylinderGeometry(end, radius, 1, 24).rotateX(Math.PI / 2).translate(0, 0, 0.5), color);
  const line = (color, linewidth) =>
    new LineSegments2(new LineSegmentsGeometry(), new LineMaterial({ color, linewidth, fog: true }));
  const parts = {
    scene, sun, body: add(new THREE.BoxGeometry(...look.CART), look.STEEL), joint: ball(0.05, look.GREY),
    rod: stick(look._THINNEST, look.ORANGE), tip: ball(1.6 * look._THINNEST, look.ORANGE), center: ball(0.045, look.GREY),
    shaft: stick(0.016, look.BLUE), head: stick(0.04, look.BLUE, 0), spring: stick(0.008, look.RED),
    goal: stick(0.09, look.GREEN), reach: stick(0.12, look.RED), grid: line("grey", 1), trail: line(`rgb(${look.ORANGE})`, 2),
    shade: new THREE.Mesh(new THREE.PlaneGeometry(80, 80), new THREE.ShadowMaterial({ opacity: 0.25 })),
  };
  parts.reach.visible = false; // thick enough for a finger, and only for it
  parts.goal.scale.z = 0.004;
  for (let i = -GRID; i <= GRID; i++)
    for (let j = -GRID; j < GRID; j++) squares.push(i, j, 0, i, j + 1, 0, j, i, 0, j + 1, i, 0);
  parts.grid.geometry.setPositions(squares);
  parts.grid.position.z = parts.shade.position.z = -HEIGHT - 0.002;
  parts.shade.receiveShadow = sun.castShadow = true;
  parts.trail.frustumCulled = false;
  Object.assign(sun.shadow.camera, { left: -3, right: 3, top: 3, bottom: -3 });
  sky.position.copy(UP);
  scene.add(parts.grid, parts.trail, parts.shade, sun, sun.target, sky);
  return parts;
}

function stretch(stick, from, to) {
  const way = to.clone().sub(from), length = way.length();
  stick.position.copy(from);
  stick.scale.z = Math.max(length, 1e-6);
  stick.quaternion.setFromUnitVectors(UP, length > 0 ? way.divideScalar(length) : UP);
}

async function main() {
  const { exports: loop } = (await WebAssembly.instantiate(wasm)).instance;
  const state = () => new Float64Array(loop.memory.buffer, loop.loop_state(), 17);
  const canvas = $("scene"), renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
  const camera = new THREE.PerspectiveCamera(radToDeg(FOV), 1, 0.05, 100);
  const parts = makeScene(), ray = new THREE.Raycaster(), values = {};
  const ground = new THREE.Plane(UP, HEIGHT);
  let playing = true, last = 0, behind = 0, path = [], grab = null, pressed = null, goal = [0, 0];
  camera.up.copy(UP);
  renderer.shadowMap.enabled = true;

  const point = (at) => { // on the rod, `at` [m] from the joint
    const s = state();
    return new THREE.Vector3(s[0] + at * s[4], s[1] + at * s[5], at * s[6]);
  };
  const meet = (event, plane) => { // where the ray below the pointer meets a plane
    const x = (2 * event.offsetX) / canvas.clientWidth - 1, y = 1 - (2 * event.offsetY) / canvas.clientHeight;
    ray.setFromCamera(new THREE.Vector2(x, y), camera);
    return ray.ray.intersectPlane(plane, new THREE.Vector3());
  };
  const apply = () => {
    for (const [name, , unit] of SLIDERS) {
      values[name] = Number($(name).value);
      $(name).previousSibling.textContent = values[name] + unit;
    }
    const on = $("law").checked ? 1 : 0, v = values;
    loop.loop_plant(v.cart, v.rod, v.length);
    loop.loop_gains(on * v.position, on * v.velocity, on * v.angle, on * v.rate);
    loop.loop_delay(Math.round(v.delay / 1e3 / PERIOD));
  };
  const sendTo = (x, y) => loop.loop_set_point(...(goal = [x, y]));
  const play = (is) => ($("pause").textContent = (playing = is) ? "Pause" : "Play");
  const reset = () => {
    loop.loop_reset(degToRad(START));
    [path, goal, grab] = [[], [0, 0], null];
    controls.target.copy(vector(look.CAMERA[1]));
    camera.position.copy(vector(look.CAMERA[0])).sub(controls.target);
    camera.position.multiplyScalar(Math.max(1, 0.8 / camera.aspect)).add(controls.target);
  };

  const press = (event) => {
    pressed = [event.offsetX, event.offsetY, meet(event, ground)];
    const hit = ray.intersectObjects([parts.reach, parts.body])[0];
    if (!hit || grab) return;
    const isCart = hit.object === parts.body, along = hit.point.clone().sub(point(0)).dot(point(1).sub(point(0)));
    const at = isCart ? 0 : Math.min(Math.max(along, 0.01), values.length);
    const plane = new THREE.Plane(), normal = isCart ? UP : camera.getWorldDirection(new THREE.Vector3());
    grab = { at, hold: hit.point.clone().sub(point(at)), plane: plane.setFromNormalAndCoplanarPoint(normal, hit.point) };
    controls.enabled = false;
    canvas.setPointerCapture(event.pointerId);
    drag(event);
  };
  const drag = (event) => {
    const pointer = grab && meet(event, grab.plane);
    if (pointer) loop.loop_pull(grab.at, ...(grab.pointer = pointer.sub(grab.hold)));
  };
  const release = (event) => {
    const isClick = event.type === "pointerup" && event.button === 0 && pressed && !grab;
    const [x, y, place] = pressed ?? [];
    if (isClick && place && Math.hypot(event.offsetX - x, event.offsetY - y) < 5 && place.length() < FARTHEST)
      sendTo(place.x, place.y);
    loop.loop_release();
    grab = pressed = null;
    controls.enabled = true;
  };
  canvas.addEventListener("pointerdown", press); // before those of the controls, which a grab turns off
  const controls = new OrbitControls(camera, canvas);
  canvas.onpointermove = drag;
  canvas.onpointerup = canvas.onpointercancel = release;

  const draw = () => {
    const s = state(), joint = point(0), tip = point(values.length), force = vector([s[14], s[15], 0]).multiplyScalar(ARROW);
    parts.joint.position.copy(joint);
    parts.body.position.copy(joint).z = -HEIGHT / 2;
    parts.center.position.copy(point(values.length / 2));
    parts.tip.position.copy(tip);
    for (const stick of [parts.rod, parts.reach]) stretch(stick, joint, tip);
    parts.goal.position.set(...goal, -HEIGHT);
    const end = joint.clone().add(force);
    stretch(parts.shaft, joint, end);
    stretch(parts.head, end, end.clone().addScaledVector(force, 0.09 / Math.max(force.length(), 1e-6)));
    parts.shaft.visible = parts.head.visible = force.length() > 0.02;
    parts.spring.visible = Boolean(grab?.pointer);
    $("pull").textContent = "";
    if (grab?.pointer) {
      const to = grab.pointer.clone().add(grab.hold);
      stretch(parts.spring, point(grab.at).add(grab.hold), to);
      const { x, y } = to.project(camera);
      $("pull").style.translate = `${((x + 1) / 2) * canvas.clientWidth}px ${((1 - y) / 2) * canvas.clientHeight}px`;
      $("pull").textContent = `${Math.hypot(s[10], s[11], s[12]).toFixed(1)} N`;
    }
    const tilt = radToDeg(Math.atan2(Math.hypot(s[4], s[5]), s[6])), t = s[16];
    if (t > (path.at(-1)?.t ?? -1)) {
      path = [...path.filter((then) => then.t > t - PLOTTED), { t, tilt, tip, length: values.length }];
      const trail = path.filter((then) => then.t > t - TRAIL && then.length === values.length).map((then) => then.tip.toArray());
      parts.trail.geometry.dispose();
      parts.trail.geometry = new LineSegmentsGeometry();
      parts.trail.geometry.setPositions(trail.slice(1).flatMap((end, i) => [...trail[i], ...end]));
      plot(path, t);
    }
    $("values").textContent = `t = ${t.toFixed(2)} s, tilt ${tilt.toFixed(1)}°, cart (${s[0].toFixed(2)}, ${s[1].toFixed(2)}) m, ` +
      `force ${Math.hypot(s[14], s[15]).toFixed(1)} N`;
    $("hint").textContent = tilt > 90 ? "The rod has fallen. Reset lifts it." : HINT;
    const far = joint.clone().sub(controls.target).setZ(0), ahead = far.clone().clampLength(0, 1.5); // the camera follows
    camera.position.add(far.sub(ahead));
    controls.target.add(far);
    controls.update();
    parts.grid.position.setX(Math.round(joint.x)).setY(Math.round(joint.y));
    parts.shade.position.setX(joint.x).setY(joint.y);
    parts.sun.target.position.copy(joint);
    parts.sun.position.copy(joint).add(vector([2, -1.5, 6]));
    renderer.render(parts.scene, camera);
  };
  const frame = (now) => {
    requestAnimationFrame(frame);
    behind += playing ? Math.min((now - last) / 1e3, LONGEST_FRAME) : 0;
    last = now;
    for (; behind >= PERIOD; behind -= PERIOD) loop.loop_step(1);
    draw();
  };
  const color = () => {
    const style = getComputedStyle(document.documentElement), value = (name) => style.getPropertyValue(name).trim();
    parts.scene.background = new THREE.Color(value("--ground"));
    parts.scene.fog = new THREE.Fog(value("--ground"), 7, 25);
    parts.grid.material.color.set(value("--grid"));
  };
  const fit = () => {
    const { clientWidth, clientHeight } = canvas.parentElement;
    renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    renderer.setSize(clientWidth, clientHeight);
    camera.aspect = clientWidth / Math.max(clientHeight, 1);
    camera.updateProjectionMatrix();
  };

  for (const [name, label, , low, high, step, value] of SLIDERS)
    $("sliders").insertAdjacentHTML("beforeend",
      `<label>${label}<span></span><input id="${name}" type="range" min="${low}" max="${high}" step="${step}" value="${value}"></label>`);
  $("more").open = innerWidth > innerHeight;
  $("sliders").oninput = $("law").onchange = apply;
  $("pause").onclick = () => play(!playing);
  $("reset").onclick = reset;
  $("defaults").onclick = () => (SLIDERS.forEach(([name, , , , , , value]) => ($(name).value = value)), apply());
  matchMedia("(prefers-color-scheme: dark)").onchange = color;
  new ResizeObserver(fit).observe(canvas.parentElement);
  apply();
  color();
  fit();
  reset();
  window.pendulum = { ...loop, play, sendTo, step: (periods) => (loop.loop_step(periods), Array.from(state())) };
  requestAnimationFrame(frame);
}

function plot(path, t) {
  const canvas = $("plot"), { clientWidth, clientHeight } = canvas, ratio = devicePixelRatio, pen = canvas.getContext("2d");
  const top = 1.1 * Math.max(5, ...path.map(({ tilt }) => tilt));
  Object.assign(canvas, { width: clientWidth * ratio, height: clientHeight * ratio });
  pen.scale(ratio, ratio);
  pen.strokeStyle = `rgb(${look.ORANGE})`;
  pen.lineWidth = 1.5;
  for (const { t: then, tilt } of path) pen.lineTo((1 - (t - then) / PLOTTED) * clientWidth, (1 - tilt / top) * clientHeight);
  pen.stroke();
  pen.fillStyle = getComputedStyle(canvas).color;
  pen.fillText(`tilt, up to ${top.toFixed(0)}°, in ${PLOTTED} s`, 6, 14);
}

main().catch((error) => {
  $("values").textContent = "";
  $("hint").textContent = `This browser cannot show the pendulum: ${error.message}`;
  throw error;
});
