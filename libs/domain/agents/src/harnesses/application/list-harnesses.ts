import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { BUILTIN_HARNESS } from '#execution/runner';
import { ConfiguredHarnesses } from '../adapters/configured-harnesses.js';
import { type HarnessInstallation, HarnessInstallationsStore } from '../persistence/harness-installations.store.js';

export interface ListedHarness {
  readonly id: string;
  /** As this installation says, else as a worker does. Null: nobody says; or the built-in one, which is always there. */
  readonly installHint: string | null;
  readonly isBuiltin: boolean;
  readonly installations: readonly HarnessInstallation[];
}

/** The agents that runs can name, and where they are installed. */
@Injectable()
export class ListHarnesses {
  constructor(
    private readonly configured: ConfiguredHarnesses,
    private readonly installations: HarnessInstallationsStore,
  ) {}

  /** The built-in agent first, then the table of this installation, then what only workers know. */
  async execute({ principal, teamUid }: Caller): Promise<ListedHarness[]> {
    const teams = teamUid === null ? principal.memberships.map((membership) => membership.teamUid) : [teamUid];
    const found = await this.installations.list(teams);
    const known = this.configured.all;
    const ids = new Set([...known.keys(), ...found.map(({ id }) => id)]);
    ids.delete(BUILTIN_HARNESS);
    const others = [...ids].map((id) => {
      const installations = found.filter((installation) => installation.id === id);
      const reported = installations.find(({ installHint }) => installHint !== null)?.installHint ?? null;
      return { id, installHint: known.get(id)?.install_hint ?? reported, isBuiltin: false, installations };
    });
    return [{ id: BUILTIN_HARNESS, installHint: null, isBuiltin: true, installations: [] }, ...others];
  }
}
