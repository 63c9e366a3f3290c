import { Injectable, Logger } from '@nestjs/common';
import { AgentDirectory, ConfiguredHarnesses } from '#domain/agents';
import { type Environment, EnvironmentDirectory, EnvironmentSetUp, type SecretNames } from '#domain/environments';
import {
  type AgentConfig,
  AssignmentSource,
  type BuiltAssignment,
  DEFAULT_HARNESS,
  type McpServerConfig,
  type OfferDescription,
} from '#execution/executions';
import type {
  Assignment,
  GitPerson,
  HarnessDefinition,
  RepositoryCredentialAnswer,
  SnapshotOrder,
} from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { formatTraceparent, parseTraceparent, runTraceparent } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import { forgesOf } from '../domain/forges.js';
import { maskConfig } from '../domain/resolve-config.js';
import type { Run, RunSourceType } from '../domain/run.js';
import { RunsStore } from '../persistence/runs.store.js';
import { HarnessSecrets } from './harness-secrets.js';
import { ConfigSecrets } from './config-secrets.js';
import { PersonalRunPolicy } from './personal-run-policy.js';

const ENVIRONMENT_OF = statement('executions.environment-of')`
  SELECT r.config->>'environment_id' AS uid FROM executions e JOIN runs r ON r.id = e.run_id WHERE e.id = $1`;

/** Builds the assignments of runners: everything that the run refers to, looked up when its execution is claimed. */
@Injectable()
export class RunAssignments extends AssignmentSource {
  private readonly logger = new Logger(RunAssignments.name);

  constructor(
    private readonly database: Database,
    private readonly queries: RunsStore,
    private readonly environments: EnvironmentDirectory,
    private readonly setUps: EnvironmentSetUp,
    private readonly agents: AgentDirectory,
    private readonly configSecrets: ConfigSecrets,
    private readonly harnessSecrets: HarnessSecrets,
    private readonly personalRuns: PersonalRunPolicy,
    private readonly configured: ConfiguredHarnesses,
    private readonly settings: Settings,
  ) {
    super();
  }

  override get harnesses(): Record<string, HarnessDefinition> {
    return this.configured.extra;
  }

  override async build(runId: string, executionId: string, leaseEpoch: number): Promise<BuiltAssignment> {
    const found = await this.queries.findForAssignment(runId);
    if (!found) return { kind: 'unknown_run' };
    const { run, promptTaken, hasTranscript, sessionInDebug, permissionRules, conversationCostUsd: costUsd } = found;
    const { snapshotId, lacksLastTurn, attachments, identityName, creatorAsAuthor } = found;
    if (!(await this.personalRuns.mayBegin(found))) return NOT_ALLOWED;
    const environmentUid = run.config.environment_id;
    const usable = environmentUid === undefined ? null : await this.findEnvironment(run, environmentUid);
    if (environmentUid !== undefined && usable === null) return impossible(NO_ENVIRONMENT);
    const environment = usable && this.setUps.forRepository(usable, run.config.repository);
    if (usable !== null && environment === null) return impossible(NO_REPOSITORY);
    const identity = await this.findIdentity(run);
    const holders = [identity, secretsOfRun(run)].filter((holder) => holder !== null);
    const use = { actor: run.executor, details: { run_id: run.id, execution_id: executionId } };
    const setUp = environment || holders.length > 0 ? await this.setUps.of(environment, holders, use) : null;
    if (setUp?.kind === 'impossible') return impossible(setUp.message);
    const servers = await this.findServers(run);
    if (servers === null) return impossible('An MCP server of the run does not exist any more.');
    const ofAgent = await this.harnessSecrets.of(run, use);
    if (ofAgent.kind === 'impossible') return impossible(ofAgent.message);
    const retention = environment?.config.failure_session_retention_minutes;
    const assignment = {
      run_id: run.id,
      execution_id: executionId,
      lease_epoch: leaseEpoch,
      prompt: promptTaken ? null : run.prompt,
      base_prompt: run.config.base_prompt ?? null,
      mode: run.mode,
      interactive: run.interactive,
      harness: harnessOf(run),
      permission_policy: run.config.permission_policy ?? (run.interactive ? 'ask' : 'allow'),
      permission_allow_list: run.config.permission_allow_list ?? [],
      ...(permissionRules.length === 0 ? {} : { permission_rules: [...permissionRules] }),
      ...(run.config.max_cost_usd === undefined ? {} : { reports_usage_early: true }),
      environment: environment && {
        uid: environment.uid,
        ...(environment.config.name === undefined ? {} : { name: environment.config.name }),
        setup_commands: environment.config.setup_commands ?? [],
        env: environment.config.env ?? {},
      },
      git: this.authorsOf(identityName, creatorAsAuthor),
      repositories: setUp?.repositories ?? [],
      secrets: setUp?.secrets ?? {},
      agent_secrets: ofAgent.secrets,
      mcp_servers: servers,
      // A run that continues a conversation has a session before its own prompt was sent.
      resume:
        run.sessionId !== null
          ? {
              session_id: run.sessionId,
              transcript: hasTranscript,
              ...(sessionInDebug && !promptTaken ? { debug: true } : {}),
              ...(run.skill !== null && !promptTaken ? { skill: true } : {}),
              ...(costUsd === null ? {} : { cost_usd: costUsd }),
            }
          : null,
      ...(retention != null && { failure_session_retention_minutes: retention }),
      attachments: [...attachments],
      ...(this.settings.maxChildRuns > 0 && run.ancestorRunIds.length < this.settings.maxRunDepth
        ? { child_runs: true as const }
        : {}),
      ...traceOf(run.id, found.traceContext),
      ...(EVENT_SOURCES.includes(run.source) ? { has_source: true as const } : {}),
      ...this.snapshotOrder(snapshotId, {
        isFork: run.forkedFromRunId !== null && !promptTaken,
        lacksLastTurn,
        repeatsSetup: environment?.config.setup_on_resume === true,
      }),
    };
    return { kind: 'ready', assignment };
  }

  /** Checks as a claim does that the run may still use its environment. */
  override async repositoryCredential(
    runId: string,
    executionId: string,
    url: string,
  ): Promise<RepositoryCredentialAnswer> {
    const found = await this.queries.findForAssignment(runId);
    if (!found) return { problem: NO_ENVIRONMENT };
    const { run } = found;
    if (!(await this.personalRuns.mayBegin(found))) return { problem: NO_RIGHTS };
    const { environment_id: uid } = run.config;
    const usable = uid === undefined ? null : await this.findEnvironment(run, uid);
    if (usable === null) return { problem: NO_ENVIRONMENT };
    const environment = this.setUps.forRepository(usable, run.config.repository);
    if (environment === null) return { problem: NO_REPOSITORY };
    const use = { actor: run.executor, details: { run_id: run.id, execution_id: executionId } };
    const result = await this.setUps.credentialOf(environment, url, use);
    return result.kind === 'ready' ? { credential: result.credential } : { problem: result.message };
  }

  private authorsOf(identityName: string | null, creator: GitPerson | null): Assignment['git'] {
    const { gitAuthorName, gitAuthorEmail: email, gitCoAuthor } = this.settings;
    return {
      author: { name: identityName ?? gitAuthorName, email },
      ...(gitCoAuthor && creator !== null && { co_author: creator }),
      forges: forgesOf(this.settings),
    };
  }

  private snapshotOrder(
    restore: string | null,
    {
      isFork,
      lacksLastTurn,
      repeatsSetup,
    }: { readonly isFork: boolean; readonly lacksLastTurn: boolean; readonly repeatsSetup: boolean },
  ): Pick<Assignment, 'snapshots'> {
    const { maxSnapshotBytes, maxSnapshotFiles, snapshotInterval } = this.settings;
    if (maxSnapshotBytes === 0) return {};
    const snapshots: SnapshotOrder = {
      ...(restore === null ? {} : { restore }),
      ...(isFork ? { is_fork: true } : {}),
      ...(lacksLastTurn ? { lacks_last_turn: true } : {}),
      ...(repeatsSetup ? { repeats_setup: true } : {}),
      max_bytes: maxSnapshotBytes,
      max_entries: maxSnapshotFiles,
      interval_seconds: snapshotInterval / 1000,
    };
    return { snapshots };
  }

  override async describeOffer(config: AgentConfig, secretsOfTeam: string | null): Promise<OfferDescription> {
    const { environment_id: uid } = config;
    // An environment that was deleted is reported when the runner claims its execution.
    const environment = uid === undefined ? null : await this.environments.find(uid);
    const owner = secretsOfTeam === null ? null : { teamUid: secretsOfTeam, userUid: null };
    return {
      config: maskConfig(config),
      dockerImage: environment?.config.docker_image ?? null,
      secrets: owner === null ? {} : await this.harnessSecrets.variables({ config, owner }, OFFER),
    };
  }

  override async imageOf(executionId: string): Promise<string | null> {
    const [row] = await this.database.query<{ uid: string | null }>(ENVIRONMENT_OF, [executionId]);
    const uid = row?.uid ?? null;
    // An environment that was deleted is reported when the runner claims its execution.
    const environment = uid === null ? null : await this.environments.find(uid);
    return environment?.config.docker_image ?? null;
  }

  override async recordSetup(environmentUid: string, outcome: 'succeeded' | 'failed'): Promise<void> {
    try {
      await this.environments.noteSetup(environmentUid, outcome === 'failed');
    } catch (error) {
      this.logger.warn(`The outcome of a set-up of environment ${environmentUid} was not recorded: ${String(error)}`);
    }
  }

  /** The agent identity that executes the run, with the secrets that it names now; null also for one without any. */
  private async findIdentity({ owner: { teamUid }, executor }: Run): Promise<SecretNames | null> {
    if (teamUid === null || executor.type !== 'service_account') return null;
    const identity = await this.agents.findIdentity(executor.uid, teamUid);
    if (!identity || identity.secrets.length === 0) return null;
    return { kind: 'agent identity', uid: identity.uid, teamUid, secrets: identity.secrets };
  }

  /** Looked up at each claim: sharing may have ended since the run was created or last executed. */
  private findEnvironment({ owner: { teamUid, userUid }, creator }: Run, uid: string): Promise<Environment | null> {
    return this.environments.findForRun(uid, { teamUid, userUid, creatorUid: creator.uid });
  }

  /** The run's MCP servers with their secret values; null: one that the team had registered does not exist any more. */
  private async findServers(run: Run): Promise<Record<string, McpServerConfig> | null> {
    const own = this.configSecrets.openForRun(run.id, run.config).mcp_servers ?? {};
    const uids = Object.values(own).flatMap(({ warp_id: uid }) => (uid === undefined ? [] : [uid]));
    if (uids.length === 0) return own;
    if (run.owner.teamUid === null) return null;
    const registered = await this.agents.findMcpServers(run.owner.teamUid, uids);
    if (!uids.every((uid) => registered.has(uid))) return null;
    return Object.fromEntries(
      Object.entries(own).map(([name, server]) => [
        name,
        server.warp_id === undefined ? server : (registered.get(server.warp_id) ?? server),
      ]),
    );
  }
}

/** Of runs that an issue, pull request or thread has started. */
const EVENT_SOURCES: readonly RunSourceType[] = ['GITHUB_WEBHOOK', 'GITLAB_WEBHOOK', 'SLACK'];

function traceOf(runId: string, traceContext: string | null): Pick<Assignment, 'traceparent'> {
  const creation = parseTraceparent(traceContext);
  return creation === null ? {} : { traceparent: formatTraceparent(runTraceparent(creation, runId)) };
}

const OFFER = { actor: { type: 'system' }, details: { purpose: 'offer to a self-hosted worker' } } as const;

/** A run of a person has none: the request was rejected. */
function secretsOfRun({ id, owner: { teamUid }, config: { secrets = [] } }: Run): SecretNames | null {
  if (secrets.length === 0) return null;
  return { kind: 'run', uid: id, teamUid, secrets: secrets.map(({ name }) => name) };
}

const NO_ENVIRONMENT =
  'The environment of the run does not exist any more, or the owner of the run may no longer use it: sharing it has ended, or their role on its team has changed.';
const NO_REPOSITORY = 'The environment of the run no longer allows the repository that the run names.';
const NO_RIGHTS = 'The user whose run it is was disabled, or may no longer have such runs.';
const NOT_ALLOWED: BuiltAssignment = { kind: 'impossible', errorCode: 'not_authorized', message: NO_RIGHTS };
const impossible = (message: string): BuiltAssignment => ({
  kind: 'impossible',
  errorCode: 'environment_setup_failed',
  message,
});

function harnessOf(run: Run): Assignment['harness'] {
  const { type, model_id, reasoning_level } = run.config.harness ?? {};
  const model = model_id ?? run.config.model_id;
  return {
    type: type ?? DEFAULT_HARNESS,
    ...(model === undefined ? {} : { model_id: model }),
    ...(reasoning_level === undefined ? {} : { reasoning_level }),
  };
}
