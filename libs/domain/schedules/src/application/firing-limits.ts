/**
 * How long a lap begins things. Its transaction has to end long before it is ended for being idle, and before whoever
 * waits for its timers, to pause a schedule, gives up.
 */
export const LAP_MS = 5_000;

/** How long a firing waits for repositories of skills. They are read on, and it is fired again. */
export const FIRING_SKILL_WAIT_MS = 2_000;
