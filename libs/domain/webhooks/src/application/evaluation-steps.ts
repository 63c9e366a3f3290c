import { Injectable } from '@nestjs/common';

/** Where the evaluation of deliveries can be interrupted, in their order. */
export const EVALUATION_STEPS = ['taken', 'evaluated', 'recorded'] as const;
export type EvaluationStep = (typeof EVALUATION_STEPS)[number];

/** Passed at every step. Nothing happens there but in a test that puts an end to the process at one of them. */
@Injectable()
export class EvaluationSteps {
  reached(_step: EvaluationStep): void {
    // What this is for is replaced where it is needed.
  }
}
