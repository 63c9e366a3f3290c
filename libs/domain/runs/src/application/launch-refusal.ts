import { fieldName } from '#platform/kernel';
import type { CreateRunResult } from './create-run.js';

/** Why the service could not start a run by itself. `unavailable`: perhaps it can in a while; else somebody has to change something. */
export interface LaunchRefusal {
  readonly kind: 'refused' | 'unavailable';
  /** For people; names the field. */
  readonly reason: string;
}

export function launchRefusal(refused: Exclude<CreateRunResult, { kind: 'created' }>): LaunchRefusal {
  switch (refused.kind) {
    case 'unavailable':
      return { kind: 'unavailable', reason: `${fieldName(refused.pointer)} ${refused.detail}` };
    case 'invalid':
    case 'too_large':
      return { kind: 'refused', reason: `${fieldName(refused.pointer)} ${refused.detail}` };
    case 'not_authorized':
      return { kind: 'refused', reason: refused.detail };
    case 'conversation_busy':
    case 'key_reused':
      return { kind: 'refused', reason: refused.kind };
  }
}
