import { Injectable } from '@nestjs/common';

/** Where the firing of due timers can be interrupted, in their order. */
export const TIMER_STEPS = ['claimed', 'launched', 'fired', 'moved'] as const;
export type TimerStep = (typeof TIMER_STEPS)[number];

/** Passed at every step. Nothing happens there but in a test that puts an end to the process at one of them. */
@Injectable()
export class TimerSteps {
  reached(_step: TimerStep): void {
    // What this is for is replaced where it is needed.
  }
}
