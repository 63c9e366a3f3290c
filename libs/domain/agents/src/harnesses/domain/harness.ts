import type { HarnessDefinition } from '#execution/runner-protocol';
import { ExtensionPoint } from '#platform/kernel';

/**
 * Extension point: an agent that speaks the Agent Client Protocol. The API and the processor need it. Two extensions of one id
 * prevent the start; the file that HARNESSES_FILE names may change one.
 */
@ExtensionPoint(['api', 'processor'])
export abstract class Harness {
  /** Lower-case letters, digits, `_` and `-`, at most 64. */
  abstract readonly id: string;
  abstract readonly definition: HarnessDefinition;
}
