/** Functions are optimized later, since most are called too seldom to gain from it: 3 to 4 % less processor time of the tests. */
export const LATE_OPTIMIZATION = '--interrupt-budget=500000';

/**
 * Of a process that a test starts and stops within seconds. With a heap that is large enough for its start it collects no garbage then:
 * with both flags, 15 % less processor time of a start and a stop.
 */
export const FLAGS_OF_SHORT_PROCESSES: readonly string[] = [LATE_OPTIMIZATION, '--initial-heap-size=256'];
