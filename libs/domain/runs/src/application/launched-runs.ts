import { Injectable } from '@nestjs/common';
import { fieldName } from '#platform/kernel';
import { RunInserts } from '../persistence/run-inserts.js';
import type { CreateRunResult } from './create-run.js';

/** What the service has started by itself, by the launch keys of `CreateRun`. */
@Injectable()
export class LaunchedRuns {
  constructor(private readonly inserts: RunInserts) {}

  /** Ids of the runs that were started under these keys, by key; a key without a run is not there. One round trip. */
  find(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.inserts.findLaunched(keys);
  }
}

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
