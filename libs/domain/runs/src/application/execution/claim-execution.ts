import { Injectable } from '@nestjs/common';
import { AgentDirectory } from '#domain/agents';
import { Settings } from '#platform/config';
import {
  type Environment,
  EnvironmentDirectory,
  EnvironmentSetUp,
  type SecretNames,
  type SetUp,
} from '#domain/environments';
import { Database } from '#platform/persistence';
import type { Assignment, AttachmentRef, ClaimRequest } from '#execution/runner-protocol';
import type { StoredAttachment } from '../../domain/attachment.js';
import { beatSeconds } from '../../domain/lease.js';
import { DEFAULT_HARNESS, type Run } from '../../domain/run.js';
import { ExecutionsStore, isHeldForRunner } from '../../persistence/executions.store.js';
import { RunLogStore } from '../../persistence/run-log.store.js';
import { RunMoves } from '../../persistence/run-moves.js';
import { RunQueries } from '../../persistence/run-queries.js';
import { Attachments } from '../attachments.js';
import { FinishExecution } from './finish-execution.js';
import { PersonalRunPolicy } from '../personal-run-policy.js';
import { HarnessSecrets } from './harness-secrets.js';
import { RunServers } from './run-servers.js';

export type ClaimResult =
  { readonly kind: 'assigned'; readonly assignment: Assignment } | { readonly kind: 'lease_lost' };

/** The environment of the run cannot be set up, or something that its agent needs is not there. */
type Impossible = Extract<SetUp, { kind: 'impossible' }>;

/** Puts together what a runner needs to know of its run. */
@Injectable()
export class Assignments {
  constructor(
    private readonly queries: RunQueries,
    private readonly environments: EnvironmentDirectory,
    private readonly attachments: Attachments,
    private readonly servers: RunServers,
    private readonly harnessSecrets: HarnessSecrets,
    private readonly setUps: EnvironmentSetUp,
    private readonly personalRuns: PersonalRunPolicy,
    private readonly agents: AgentDirectory,
  ) {}

  async build(
    runId: string,
    executionId: string,
    leaseEpoch: number,
  ): Promise<Omit<Assignment, 'ttl_seconds' | 'next_beat_seconds'> | keyof typeof GONE | Impossible | null> {
    const found = await this.queries.findForAssignment(runId);
    if (!found) return null;
    const {
      run,
      isExternal,
      promptTaken,
      hasTranscript,
      sessionInDebug,
      permissionRules,
      conversationCostUsd: costUsd,
    } = found;
    if (!(await this.personalRuns.mayBegin(run, isExternal))) return 'not_allowed';
    const environmentUid = run.config.environment_id;
    const environment = environmentUid === undefined ? null : await this.findEnvironment(run, environmentUid);
    if (environmentUid !== undefined && environment === null) return 'no_environment';
    const identity = await this.findIdentity(run);
    const setUp = environment || identity ? await this.setUps.of(environment, identity) : null;
    if (setUp?.kind === 'impossible') return setUp;
    const servers = await this.servers.of(run);
    if (servers === null) return 'no_mcp_server';
    const ofAgent = await this.harnessSecrets.of(run);
    if (ofAgent.kind === 'impossible') return ofAgent;
    return {
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
      repositories: setUp?.repositories ?? [],
      secrets: setUp?.secrets ?? {},
      agent_secrets: ofAgent.secrets,
      mcp_servers: servers,
      // A run that continues a conversation has a session before its own prompt was taken.
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
      ...retentionOf(environment),
      attachments: (await this.attachments.list(runId)).map(toAttachmentRef),
    };
  }

  /** The agent identity that executes the run, with the secrets that it names now; null also for one without any. */
  private async findIdentity({ owner: { teamUid }, executor }: Run): Promise<SecretNames | null> {
    if (teamUid === null || executor.type !== 'service_account') return null;
    const identity = await this.agents.findIdentity(executor.uid, teamUid);
    if (!identity || identity.secrets.length === 0) return null;
    return { kind: 'agent identity', uid: identity.uid, teamUid, secrets: identity.secrets };
  }

  /** Looked up anew each time: sharing may have ended since the run was created, and a continued run begins again. */
  private findEnvironment({ owner: { teamUid, userUid }, creator }: Run, uid: string): Promise<Environment | null> {
    return this.environments.findForRun(uid, { teamUid, userUid, creatorUid: creator.uid });
  }
}

function toAttachmentRef({ id, fileName, mimeType, sizeBytes }: StoredAttachment): AttachmentRef {
  return { attachment_id: id, file_name: fileName, mime_type: mimeType, size_bytes: sizeBytes };
}

/** A runner accepts its offer: the lease begins and the run is CLAIMED. Repeated by the same runner, the same answer. */
@Injectable()
export class ClaimExecution {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly executions: ExecutionsStore,
    private readonly moves: RunMoves,
    private readonly log: RunLogStore,
    private readonly assignments: Assignments,
    private readonly finish: FinishExecution,
  ) {}

  async execute(executionId: string, request: ClaimRequest): Promise<ClaimResult> {
    const runId = await this.executions.runOf(executionId);
    if (runId === null) return { kind: 'lease_lost' };
    const leaseEpoch = await this.database.transaction(async (tx) => {
      if (!(await this.moves.lock(tx, runId))) return null;
      const execution = await this.executions.lock(tx, executionId);
      if (!execution || execution.is_fenced) return null;
      if (execution.phase === 'claimed' && execution.instance_id === request.instance_id) return execution.lease_epoch;
      // A self-hosted worker has claimed it for this runner: the lease goes over, the run stays.
      if (isHeldForRunner(execution)) return this.executions.claim(tx, executionId, request.instance_id);
      if (execution.phase !== 'offered' || execution.is_expired) return null;
      if (!(await this.moves.move(tx, runId, 'claim'))) return null;
      const epoch = await this.executions.claim(tx, executionId, request.instance_id);
      await this.log.append(tx, runId, executionId, [
        { kind: 'run_claimed', data: { execution_id: Number(executionId) } },
      ]);
      return epoch;
    });
    if (leaseEpoch === null) return { kind: 'lease_lost' };
    const assignment = await this.assignments.build(runId, executionId, leaseEpoch);
    if (typeof assignment === 'string' || (assignment && 'kind' in assignment)) {
      const message = typeof assignment === 'string' ? GONE[assignment] : assignment.message;
      const error_code = assignment === 'not_allowed' ? 'not_authorized' : 'environment_setup_failed';
      const failure = { outcome: 'failed', error_code, message } as const;
      await this.finish.execute(executionId, { lease_epoch: leaseEpoch, ...failure });
      return { kind: 'lease_lost' };
    }
    const retention = assignment?.failure_session_retention_minutes;
    if (retention !== undefined) await this.executions.allowDebug(executionId, retention * 60_000);
    return assignment ? { kind: 'assigned', assignment: { ...assignment, ...this.lease() } } : { kind: 'lease_lost' };
  }

  private lease(): Pick<Assignment, 'ttl_seconds' | 'next_beat_seconds'> {
    return { ttl_seconds: this.settings.leaseTtl / 1000, next_beat_seconds: beatSeconds(this.settings.leaseTtl) };
  }
}

/** How long a runner stays when the set-up fails; nothing when it does not. */
function retentionOf(environment: Environment | null): Pick<Assignment, 'failure_session_retention_minutes'> {
  const minutes = environment?.config.failure_session_retention_minutes ?? null;
  return minutes === null ? {} : { failure_session_retention_minutes: minutes };
}

const GONE = {
  not_allowed: 'The user whose run it is was disabled, or may no longer have such runs.',
  no_environment:
    'The environment of the run does not exist any more, or the owner of the run may no longer use it: sharing it has ended, or their role on its team has changed.',
  no_mcp_server: 'An MCP server of the run does not exist any more.',
} as const;

function harnessOf(run: Run): Assignment['harness'] {
  const { type, model_id, reasoning_level } = run.config.harness ?? {};
  const model = model_id ?? run.config.model_id;
  return {
    type: type ?? DEFAULT_HARNESS,
    ...(model === undefined ? {} : { model_id: model }),
    ...(reasoning_level === undefined ? {} : { reasoning_level }),
  };
}
