/* The law of the controller: `make LAW=lqr` (as it is) or `make LAW=policy`. */
#ifndef LAW_H
#define LAW_H

#ifdef LAW_POLICY
#include "policy.h"
#define law_force policy_force
#else
#include "lqr.h"
#define law_force lqr_force
#endif

#endif
