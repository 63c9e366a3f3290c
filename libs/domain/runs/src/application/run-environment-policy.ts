import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory } from '#domain/environments';
import type { Caller } from '#platform/auth';
import type { Run } from '../domain/run.js';

const REFUSED =
  'The run works in an environment that you cannot use. Its creator can continue it, or share the environment.';

/** Who may say what the agent of a run does: a follow-up or an allowed command can read the values of its environment. */
@Injectable()
export class RunEnvironmentPolicy {
  constructor(private readonly environments: EnvironmentDirectory) {}

  /**
   * Why the caller may not, or null. The environment may be a personal one of the creator of the run. No round trip for the
   * creator, or without an environment.
   */
  async refusal(caller: Caller, { config, creator, owner }: Run): Promise<string | null> {
    const { environment_id: uid } = config;
    if (uid === undefined || creator.uid === caller.principal.uid) return null;
    const usable = await this.environments.findUsable(uid, { teamUid: owner.teamUid, caller });
    return usable === null ? REFUSED : null;
  }
}
