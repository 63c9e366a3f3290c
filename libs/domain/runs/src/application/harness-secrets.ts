import { Injectable, Logger } from '@nestjs/common';
import { ConfiguredHarnesses } from '#domain/agents';
import { Database, type Queryable } from '#platform/persistence';
import type { Assignment } from '#execution/runner-protocol';
import { ManagedSecrets, SealBrokenError, type SecretUse } from '#platform/secrets';
import { DEFAULT_HARNESS } from '#execution/executions';
import type { Run } from '../domain/run.js';

export type AgentSecrets =
  | { readonly kind: 'ready'; readonly secrets: NonNullable<Assignment['agent_secrets']> }
  /** For the person whose run it is; names a secret, never a value. */
  | { readonly kind: 'impossible'; readonly message: string };

/** What a run's agent gets beside its environment, in clear: for the runner, never for a response. */
@Injectable()
export class HarnessSecrets {
  private readonly logger = new Logger(HarnessSecrets.name);

  constructor(
    private readonly database: Database,
    private readonly managed: ManagedSecrets,
    private readonly harnesses: ConfiguredHarnesses,
  ) {}

  /** No round trip when nothing is named. */
  async of({ config, owner: { teamUid } }: Pick<Run, 'config' | 'owner'>, use: SecretUse): Promise<AgentSecrets> {
    const id = config.harness?.type ?? DEFAULT_HARNESS;
    const named = config.harness_auth_secrets?.[`${id}_auth_secret_name`];
    const given = teamUid === null ? {} : (this.harnesses.all.get(id)?.secrets ?? {});
    if (named === undefined && Object.keys(given).length === 0) return { kind: 'ready', secrets: {} };
    return this.database.transaction(async (tx): Promise<AgentSecrets> => {
      const auth = named === undefined ? undefined : await this.valueOf(tx, teamUid, named);
      if (auth === null)
        return {
          kind: 'impossible',
          message: `The managed secret ${named}, which the run names, does not exist, is for webhooks, or cannot be read.`,
        };
      const variables: Record<string, string> = {};
      for (const [variable, name] of Object.entries(given)) {
        const value = await this.valueOf(tx, teamUid, name);
        if (value !== null) variables[variable] = value;
      }
      const names = [
        ...(named === undefined ? [] : [named]),
        ...Object.entries(given).flatMap(([variable, name]) => (variable in variables ? [name] : [])),
      ];
      if (teamUid !== null) await this.managed.recordUse(tx, teamUid, names, use);
      return { kind: 'ready', secrets: { ...(auth === undefined ? {} : { auth }), variables } };
    });
  }

  /** The same under the names of the variables that the agent reads; empty when something of it cannot be had. */
  async variables(run: Pick<Run, 'config' | 'owner'>, use: SecretUse): Promise<Readonly<Record<string, string>>> {
    const found = await this.of(run, use);
    if (found.kind === 'impossible') return {};
    const { auth, variables = {} } = found.secrets;
    const variable = this.harnesses.all.get(run.config.harness?.type ?? DEFAULT_HARNESS)?.auth_variable;
    return auth === undefined || variable === undefined ? variables : { ...variables, [variable]: auth };
  }

  private async valueOf(tx: Queryable, teamUid: string | null, name: string): Promise<string | null> {
    try {
      return teamUid === null ? null : ((await this.managed.readForRun(tx, teamUid, name))?.value ?? null);
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      this.logger.error(`The managed secret ${name} of team ${teamUid} does not open: ${error.message}`);
      return null;
    }
  }
}
