import { Injectable } from '@nestjs/common';
import { AgentDirectory, type AgentIdentity } from '#domain/agents';
import { EnvironmentDirectory, EnvironmentSetUp } from '#domain/environments';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { refFault } from '#platform/git';
import { type Issue, issueSentences, notAccessible, pointerOf, prefixIssues } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import { type AgentConfig, isEnded, type RunOwner } from '#execution/executions';
import type { Run } from '../domain/run.js';
import { RunsService } from './runs.service.js';

export interface ConfigUse {
  /** Null: a person's own runs. */
  readonly teamUid: string | null;
  /** Null: no person; then only what belongs to the team itself, or was shared with it, is usable. */
  readonly caller: Caller | null;
}

@Injectable()
export class ConfigReferences {
  constructor(
    private readonly agents: AgentDirectory,
    private readonly environments: EnvironmentDirectory,
    private readonly setUps: EnvironmentSetUp,
    private readonly database: Database,
    private readonly secrets: ManagedSecrets,
  ) {}

  /** Empty when runs may have it. No round trip when nothing is named; `queryable`: the caller's transaction. */
  async check(use: ConfigUse, config: AgentConfig, queryable?: Queryable): Promise<Issue[]> {
    const { teamUid } = use;
    const { secrets: granted = [], harness_auth_secrets: named = {}, mcp_servers: servers = {} } = config;
    const { environment_id: environmentUid } = config;
    const issues: Issue[] = [];
    // A person's own runs have neither managed secrets nor registered servers: those belong to teams.
    const secrets = [...new Set([...Object.values(named), ...granted.map(({ name }) => name)])];
    const knownSecrets =
      secrets.length > 0 && teamUid !== null
        ? await this.secrets.versionsForRuns(queryable ?? this.database, teamUid, secrets)
        : null;
    for (const [field, name] of Object.entries(named))
      if (knownSecrets?.has(name) !== true)
        issues.push({ pointer: `/harness_auth_secrets/${field}`, detail: notAccessible('a managed secret') });
    for (const [index, { name }] of granted.entries())
      if (knownSecrets?.has(name) !== true)
        issues.push({ pointer: `/secrets/${index}/name`, detail: notAccessible('a managed secret') });
    const uids = Object.values(servers).flatMap(({ warp_id: uid }) => uid ?? []);
    const knownServers =
      uids.length > 0 && teamUid !== null ? await this.agents.findMcpServers(teamUid, uids, queryable) : null;
    for (const [name, { warp_id: uid }] of Object.entries(servers))
      if (uid !== undefined && knownServers?.has(uid) !== true)
        issues.push({ pointer: pointerOf('mcp_servers', name, 'warp_id'), detail: notAccessible('an MCP server') });
    const environment =
      environmentUid === undefined ? null : await this.environments.findUsable(environmentUid, use, queryable);
    if (environmentUid !== undefined && environment === null)
      issues.push({ pointer: '/environment_id', detail: notAccessible('an environment') });
    else if (
      config.repository !== undefined &&
      !(environment && this.setUps.forRepository(environment, config.repository))
    )
      issues.push({
        pointer: '/repository/url',
        detail: 'must be a repository that the environment of the run allows',
      });
    const refRule = config.repository?.ref === undefined ? null : refFault(config.repository.ref);
    if (refRule !== null) issues.push({ pointer: '/repository/ref', detail: refRule });
    return issues;
  }
}

export interface RequestedReferences {
  readonly agentIdentityUid?: string;
  readonly parentRunId?: string;
  readonly conversationId?: string;
  /** Of a run that the service starts: its creator is named for the record, and does not execute it. */
  readonly launchKey?: string;
}

export type ReferenceRefusal =
  | ({ readonly kind: 'invalid' } & Issue)
  | { readonly kind: 'not_authorized'; readonly detail: string; readonly errors?: readonly Issue[] }
  | { readonly kind: 'conversation_busy' };

export interface FoundReferences {
  /** Executes the run, and brings its defaults; null: the caller executes it, without defaults. */
  readonly identity: AgentIdentity | null;
  readonly parent: Run | null;
  readonly continued: Run | null;
}

const refused = (detail: string): ReferenceRefusal => ({ kind: 'not_authorized', detail });

/**
 * Follows the references of a new run through the caller's permissions. What does not exist and what may not be used
 * are refused alike, so that a refusal discloses nothing. Costs no round trip when nothing is referenced.
 */
@Injectable()
export class RunReferences {
  constructor(
    private readonly runs: RunsService,
    private readonly agents: AgentDirectory,
    private readonly configs: ConfigReferences,
    private readonly settings: Settings,
  ) {}

  async find(caller: Caller, owner: RunOwner, asked: RequestedReferences): Promise<FoundReferences | ReferenceRefusal> {
    const identity = await this.findIdentity(caller, owner, asked);
    if (identity && 'kind' in identity) return identity;
    const parent = asked.parentRunId === undefined ? null : await this.findParent(caller, asked.parentRunId);
    if (parent && 'kind' in parent) return parent;
    const continued =
      asked.conversationId === undefined ? null : await this.findContinued(caller, asked.conversationId);
    if (continued && 'kind' in continued) return continued;
    return { identity, parent, continued };
  }

  /** Whether a run of `owner` may have this resolved configuration; null when it may. */
  async checkConfig(caller: Caller, { teamUid }: RunOwner, config: AgentConfig): Promise<ReferenceRefusal | null> {
    const issues = await this.configs.check({ teamUid, caller }, config);
    return issues.length === 0 ? null : inaccessible(prefixIssues('/config', issues));
  }

  /** The identity that was asked for; else the one that a service account is itself, if it is one. */
  private async findIdentity(
    { principal }: Caller,
    { teamUid }: RunOwner,
    { agentIdentityUid: uid, launchKey }: RequestedReferences,
  ): Promise<AgentIdentity | ReferenceRefusal | null> {
    if (uid === undefined) {
      if (principal.type !== 'service_account' || teamUid === null || launchKey !== undefined) return null;
      const self = await this.agents.findIdentity(principal.uid, teamUid);
      return self?.available === false ? refused('This agent identity is not available.') : self;
    }
    if (teamUid === null)
      return { kind: 'invalid', pointer: '/agent_identity_uid', detail: 'needs a run that the team owns' };
    const identity = await this.agents.findIdentity(uid, teamUid);
    return identity?.available === true
      ? identity
      : inaccessible([{ pointer: '/agent_identity_uid', detail: notAccessible('an agent identity') }]);
  }

  private async findParent(caller: Caller, runId: string): Promise<Run | ReferenceRefusal> {
    const parent = await this.runs.find(caller, runId, 'runs:read');
    if (parent.kind !== 'found')
      return { kind: 'invalid', pointer: '/parent_run_id', detail: 'must be a run that exists and that you may see' };
    const depth = parent.run.ancestorRunIds.length + 1;
    if (depth <= this.settings.maxRunDepth) return parent.run;
    const detail = `must not be ${this.settings.maxRunDepth} levels deep already, which is the limit`;
    return { kind: 'invalid', pointer: '/parent_run_id', detail };
  }

  private async findContinued(caller: Caller, conversationId: string): Promise<Run | ReferenceRefusal> {
    const run = await this.runs.findNewestOf(caller, conversationId);
    if (!run) {
      const detail = 'must be a conversation that exists and that you may see';
      return { kind: 'invalid', pointer: '/conversation_id', detail };
    }
    // Two concurrent runs would write two different continuations of one conversation.
    return run.hasLiveExecution || !isEnded(run.state, false) ? { kind: 'conversation_busy' } : run;
  }
}

const inaccessible = (errors: readonly Issue[]): ReferenceRefusal => ({
  kind: 'not_authorized',
  detail: issueSentences(errors),
  errors,
});
