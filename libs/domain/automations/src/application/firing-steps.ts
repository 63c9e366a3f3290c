import { Injectable } from '@nestjs/common';

/** Where the firing of automations for an event can be interrupted, in their order. */
export const FIRING_STEPS = [
  'before_reading',
  'triggers_read',
  'filters_evaluated',
  'automations_loaded',
  'before_launch',
  'launched',
  'all_launched',
] as const;
export type FiringStep = (typeof FIRING_STEPS)[number];

/** Passed at every step. Nothing happens there but in a test that puts an end to the process at one of them. */
@Injectable()
export class FiringSteps {
  reached(_step: FiringStep): void {
    // What this is for is replaced where it is needed.
  }
}
