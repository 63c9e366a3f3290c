import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '#platform/kernel';
import type {
  Assignment,
  Commands,
  Desired,
  RunnerHandover,
  SessionStarted,
  SetupFailed,
} from '#execution/runner-protocol';
import { AgentHost } from './agent-host.js';
import type { ExecutionOptions } from './execution-options.js';
import { ArtifactSync } from './artifacts/artifact-sync.js';
import { RepositoryResults } from './artifacts/repository-results.js';
import { Conversation, Inbox } from './conversation.js';
import { forgeNotice } from './forges/forge-access.js';
import { PullRequests } from './forges/pull-requests.js';
import { RepositoryCredentials } from './git/repository-credentials.js';
import { startGitServices } from './git/git-services.js';
import { findHarness, harnessIds, type Harness } from './harness/harnesses.js';
import { AgentFailure } from './acp/model-failure.js';
import { executionEnvironment, type LaunchContext } from './harness/launch.js';
import {
  agentFailed,
  cancelled,
  closed,
  failed,
  TerminatedError,
  handedBack,
  stopped,
  type ExecutionEnd,
} from './termination.js';
import type { ManagedProcess } from './process/managed-process.js';
import { killMatching, sweep, type SweepTargets } from './process/sweep.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import { errorText } from './runner-log.js';
import { gitHosts, marks } from './setup/clone-repositories.js';
import { prepareWorkspace, startDirectory } from './setup/setup.js';
import { settlesWithin } from './retry.js';
import { SnapshotSync } from './snapshot/snapshot-sync.js';
import { isTransient, retryTransient } from './transient.js';
import { AttachmentFiles } from './workspace/attachments.js';
import { watchDisk, makeHomeDirectories, Workspace } from './workspace/workspace.js';
import type { RunTool } from './tools/run-tool.js';
import { offeredTools } from './tools/offered-tools.js';
import { toolNotice } from './tools/run-tools.js';
import { TOOL_SERVER, toolConnection } from './tools/tool-connection.js';
import { startToolServer } from './tools/tool-server.js';
import { TranscriptSync } from './workspace/transcript-sync.js';

const SWEEP_MS = 30_000;
const OWN_START = processStart(process.pid);
/** For artifacts of an interrupted turn: a cancellation does not wait for large files. */
const LAST_ARTIFACTS_MS = 10_000;
const EARLIER_CONVERSATION =
  'Your earlier session could not be loaded. This is a summary of the conversation so far; the files are those of its last snapshot.';
const LAST_SNAPSHOT_MS = 60_000;

/** One execution from its workspace to its last event; the caller claims it before and finishes it afterwards. */
export class Execution {
  private readonly inbox = new Inbox();
  private readonly host: AgentHost;
  private readonly conversation: Conversation;
  private readonly groups: number[] = [];
  private workspace: Workspace | null = null;
  private workspaceRealPath: string | undefined;
  private transcripts: TranscriptSync | null = null;
  private artifacts: ArtifactSync | null = null;
  private results: RepositoryResults | undefined;
  private snapshots: SnapshotSync | null = null;
  /** That processes of the agent reach over sockets. */
  private readonly servers: { close(): void }[] = [];
  private readonly credentials: RepositoryCredentials;
  private setup: ManagedProcess | null = null;
  private isRetiring = false;

  constructor(private readonly options: ExecutionOptions) {
    this.credentials = new RepositoryCredentials(options);
    this.host = new AgentHost(options, (event) => {
      this.results?.observe(event, (callId) => this.host.normalizer.knownCall(callId).input);
      this.conversation.emit(event);
    });
    this.conversation = new Conversation({
      ...options,
      host: this.host,
      inbox: this.inbox,
      collectArtifacts: async () => {
        await this.artifacts?.readRepositories(options.termination.signal, this.snapshots?.revision);
        await this.collectArtifacts(options.termination.signal);
      },
      resultNotice: () => this.results?.notice ?? null,
      onTurnBegin: () => this.snapshots?.startInterval(),
      onTurnEnd: async () => {
        this.snapshots?.stopInterval();
        await this.snapshots?.take('turn');
      },
      pollCommands: options.endsWhenIdle === true ? () => this.pollCommands() : undefined,
    });
  }

  onCommands({ prompts, decisions, interrupt }: Commands): void {
    this.inbox.receive(prompts);
    // First: the control plane has denied what the interrupted turn asked, and the agent must learn that it is cancelled.
    if (interrupt) this.conversation.interrupt(interrupt, decisions);
    this.host.permissions.decide(decisions);
  }

  onDesired(desired: Desired, reason?: string): void {
    const { termination } = this.options;
    if (desired === 'stop') termination.decide(cancelled('graceful', reason));
    else if (desired === 'kill') termination.decide(cancelled('kill', reason));
    else this.conversation.requestClose(desired === 'close' || this.isRetiring, reason);
  }

  /** The launcher stops: like `close`, but it cannot be revoked, and an execution that has not started is handed back. */
  retire(): void {
    this.isRetiring = true;
    const { hasStarted, isDebugging } = this.conversation;
    if (hasStarted || isDebugging) this.conversation.requestClose(true);
    else this.options.termination.decide(handedBack());
  }

  /** The runner itself is stopped: gracefully by the first signal, at once by the second. */
  onShutdown(urgent: boolean): void {
    const { hasStarted, isIdle, isDebugging } = this.conversation;
    if (this.options.stopMeansCancel === true && !isIdle)
      return this.options.termination.decide(cancelled(urgent ? 'kill' : 'graceful'));
    const ending = !hasStarted && !isDebugging ? handedBack() : isIdle ? closed('The runner was stopped.') : stopped();
    this.options.termination.decide(urgent ? { ...ending, stopMode: 'kill' } : ending);
  }

  /** SIGKILL to everything, now, synchronously. */
  killNow(): void {
    for (const server of this.servers) server.close();
    killMatching(this.targets());
  }

  /** Runs until the end is decided, then stops all processes and sends the reports that precede `finish`. */
  async run(): Promise<ExecutionEnd> {
    const { termination, log } = this.options;
    try {
      termination.decide(await this.work());
    } catch (error) {
      if (error instanceof AgentFailure) {
        termination.decide(agentFailed(error.message, error.report));
      } else if (isTransient(error) && !this.conversation.hasStarted && !this.conversation.isDebugging) {
        log.warn('the execution is handed back', { error: errorText(error) });
        termination.decide(handedBack(`The set-up failed for a reason that may pass: ${errorText(error)}`));
      } else if (!(error instanceof TerminatedError)) {
        log.error('the runner has failed', { error: errorText(error) });
        termination.decide(failed('internal_error', `The runner has failed: ${errorText(error)}`));
      }
    }
    const { stopMode, report } = termination.ending ?? closed();
    log.info('ending', { stopMode, outcome: report.outcome, error_code: report.error_code });
    await this.endProcesses();
    const ending = termination.ending ?? closed();
    if (!termination.isFenced) await this.reportRest(ending);
    return ending;
  }

  async removeWorkspace(): Promise<void> {
    await this.workspace?.remove(this.options.log);
  }

  private async work(): Promise<ExecutionEnd> {
    const { handover, assignment, termination, outbox, plane, redactor, log } = this.options;
    const harness = this.harness();
    const { repositories = [] } = assignment;
    const retry = { signal: termination.signal, log };
    const { workspace_dir: root, run_as: runAs, in_place: inPlace } = handover;
    const workspace = await retryTransient(
      () => Workspace.create(root, runAs, startDirectory(assignment), inPlace),
      retry,
    );
    this.workspace = workspace;
    this.workspaceRealPath = realpathSync.native(workspace.root);
    const gitServers = await startGitServices({ ...this.options, workspace, credentials: this.credentials });
    this.servers.push(...gitServers);
    await retryTransient(() => makeHomeDirectories(harness, workspace), retry);
    this.limitDisk(workspace);
    outbox.push('sandbox_ready', {});
    const transcripts = new TranscriptSync(plane, harness, workspace, log, redactor);
    this.transcripts = transcripts;
    const { resume } = assignment;
    const cloned = ownsFiles(handover) ? repositories : [];
    const environment = marks(handover);
    const hosts = gitHosts(handover);
    const { credentials } = this;
    this.results = new RepositoryResults({ repositories: cloned, credentials, workspace, hosts, environment, log });
    this.artifacts = new ArtifactSync({
      plane,
      workspace,
      log,
      maxBytes: handover.limits.max_artifact_bytes,
      repositories: cloned,
      results: this.results,
      environment,
    });
    const files = new AttachmentFiles({ workspace, fetch: (id) => plane.getAttachment(id), retry });
    const attachments = await termination.race(files.place(assignment.attachments ?? []));
    const context: LaunchContext = { workspace, assignment, handover };
    this.snapshots = this.snapshotSync(workspace);
    const restored = (await this.snapshots?.restore()) ?? null;
    const isRestored = restored?.isComplete === true;
    const transcriptPlaced = await termination.race(this.placeTranscript(transcripts, isRestored));
    const setupFailure = await this.runSetupCommands(context, isRestored);
    if (setupFailure) {
      const retained = this.options.endsWhenIdle === true ? null : retainedFailure(assignment, setupFailure);
      if (retained === null) return setupFailure;
      await this.conversation.openDebugWindow(retained);
    }
    if (termination.ending) throw new TerminatedError();
    const { forges = [] } = assignment.git ?? {};
    const pullRequests = new PullRequests({ repositories: cloned, credentials, forges, workspace, hosts, environment });
    const emit = (event: PlainEvent): void => this.conversation.emit(event);
    const { permissions } = this.host;
    const results = { artifacts: this.artifacts, pullRequests, files, permissions, emit };
    const tools = await termination.race(offeredTools(this.options, results));
    const servers = await this.serveTools(context, tools);
    const started = await this.startAgent(harness, context, transcriptPlaced, servers);
    outbox.push('session_started', started);
    // Without repositories and set-up the workspace is empty.
    if (restored === null && isPrepared(assignment))
      await termination.race(this.snapshots?.take('start') ?? Promise.resolve());
    const { session } = this.host;
    if (!session) throw new Error('The agent was started without a session.');
    // A session from a debug window has not got the prompt of the run yet, one of another run not its skill.
    const isUnprepared = resume?.debug === true || resume?.skill === true;
    const isNew = !started.resumed || (isUnprepared && assignment.prompt !== null);
    return this.conversation.run(session, {
      harnessId: harness.id,
      transcripts,
      isNew,
      files,
      attachments,
      // The built-in agent does what blocks say.
      toolNotice: harness.isBuiltin ? '' : this.toolNotice(context, TOOL_SERVER in servers ? tools : []),
      notice: `${await this.earlierConversation(started.resumed)}${restored?.notice ?? ''}`,
    });
  }

  private toolNotice(context: LaunchContext, tools: readonly RunTool[]): string {
    const ofForges = forgeNotice(executionEnvironment(context), context.workspace.git);
    return [tools.length > 0 ? toolNotice(tools) : '', ofForges].filter((text) => text !== '').join('\n');
  }

  private async placeTranscript(transcripts: TranscriptSync, isRestored: boolean): Promise<boolean> {
    const { assignment, termination } = this.options;
    const { resume } = assignment;
    if (resume)
      return transcripts.place(resume.session_id, { isStored: resume.transcript, isRestored }, termination.signal);
    if (isRestored) await transcripts.removeState();
    return false;
  }

  private async startAgent(
    harness: Harness,
    context: LaunchContext,
    transcriptPlaced: boolean,
    tools: Assignment['mcp_servers'],
  ): Promise<SessionStarted> {
    try {
      return await this.host.start(harness, context, transcriptPlaced, (pid) => this.groups.push(pid), tools);
    } catch (error) {
      if (error instanceof AgentFailure) this.conversation.failDebugWindow();
      throw error;
    }
  }

  private harness(): Harness {
    const { handover, assignment, builtinAgentArgs } = this.options;
    const extra = handover.harnesses ?? {};
    const harness = findHarness(assignment.harness.type, extra, builtinAgentArgs);
    if (harness) return harness;
    throw new AgentFailure(
      `Harness "${assignment.harness.type}" not found; available: ${harnessIds(extra).join(', ')}.`,
    );
  }

  /** Messages that were sent during the turn may not have arrived yet. */
  private async pollCommands(): Promise<void> {
    const commands = await this.options.plane.commands(0, 0);
    if (commands) this.onCommands(commands);
  }

  /** The server with the tools of the run, as the agent starts it; none when the user of the agent cannot. */
  private async serveTools(context: LaunchContext, tools: readonly RunTool[]): Promise<Assignment['mcp_servers']> {
    const { assignment, log } = this.options;
    // A server that the run names itself takes precedence.
    if (TOOL_SERVER in assignment.mcp_servers) return {};
    const { root, runAs } = context.workspace;
    const socket = join(root, 'tools.sock');
    const connection = toolConnection(socket, () => executionEnvironment(context)['PATH'] ?? '', runAs);
    if (connection === null) {
      log.warn('the tools of the run are not available: the user of the agent can execute no Node.js');
      return {};
    }
    this.servers.push(await startToolServer({ socket, tools, log }));
    return { [TOOL_SERVER]: connection };
  }

  private limitDisk(workspace: Workspace): void {
    const { handover, termination } = this.options;
    const limit = handover.limits.max_workspace_bytes;
    void watchDisk(workspace.root, limit, termination.signal).then((bytes) => {
      const message = `The workspace takes ${bytes} bytes on disk; the limit (max_workspace_bytes) is ${limit}.`;
      termination.decide(agentFailed(message));
    });
  }

  /** For an agent that begins a new session although the conversation has begun earlier. */
  private async earlierConversation(isResumed: boolean): Promise<string> {
    const { assignment, plane, termination, log } = this.options;
    const hasEarlier =
      (assignment.resume !== null && assignment.resume.debug !== true) || assignment.snapshots?.is_fork;
    if (isResumed || !hasEarlier) return '';
    const text = await termination.race(
      retryTransient(() => plane.conversationSummary(), { signal: termination.signal, log }),
    );
    return text === '' ? '' : `${EARLIER_CONVERSATION}\n\n${text}\n\nThe conversation continues with this message:\n\n`;
  }

  private snapshotSync(workspace: Workspace): SnapshotSync | null {
    const { assignment, handover } = this.options;
    const { snapshots: order } = assignment;
    // Directories of a user are copied only when the user asks for it.
    if (order === undefined || !ownsFiles(handover)) return null;
    return new SnapshotSync({ ...this.options, workspace, order, targets: () => this.targets() });
  }

  private runSetupCommands(context: LaunchContext, isRestored: boolean): Promise<ExecutionEnd | null> {
    const { termination, outbox } = this.options;
    const preparing = prepareWorkspace({
      ...this.options,
      isRestored,
      workspace: context.workspace,
      credentials: this.credentials,
      env: executionEnvironment(context),
      onProcess: (process) => {
        this.setup = process;
        this.groups.push(process.pid);
      },
      report: (kind, data) => {
        if (!termination.isFenced) outbox.push(kind, data);
      },
      signal: termination.signal,
    });
    return termination.race(preparing);
  }

  private async endProcesses(): Promise<void> {
    const { log } = this.options;
    this.host.permissions.cancelAll();
    const isInTurn = this.conversation.openTurn !== null;
    await this.host.stop(this.conversation.openTurn, this.setup);
    if (isInTurn && !this.options.termination.isFenced)
      await this.artifacts?.readRepositories(this.lastArtifactsSignal());
    const { killed, left } = await sweep(this.targets(), SWEEP_MS);
    for (const server of this.servers) server.close();
    if (left > 0) log.error('some processes could not be killed', { left });
    else log.info('all processes have ended', { swept: killed });
  }

  private async reportRest({ openTurn }: ExecutionEnd): Promise<void> {
    const { outbox, log, termination } = this.options;
    const { session } = this.host;
    try {
      this.conversation.closeCalls();
      this.snapshots?.stopInterval();
      if (session && this.conversation.hasStarted) {
        await this.transcripts?.upload(session.id);
        await settlesWithin(this.snapshots?.take('end') ?? Promise.resolve(), LAST_SNAPSHOT_MS, termination.urgent);
        await this.collectArtifacts(this.lastArtifactsSignal());
      }
      this.conversation.closeTurn(openTurn);
      await outbox.flush();
    } catch (error) {
      log.warn('the last reports could not be delivered', { error: errorText(error) });
    }
  }

  private lastArtifactsSignal(): AbortSignal {
    return AbortSignal.any([this.options.termination.urgent, AbortSignal.timeout(LAST_ARTIFACTS_MS)]);
  }

  /** Rejected artifacts are reported as truncated output. */
  private async collectArtifacts(signal: AbortSignal): Promise<void> {
    const problems = (await this.artifacts?.collect(signal)) ?? [];
    if (problems.length === 0 || this.options.termination.isFenced) return;
    this.options.outbox.push('output_truncated', { artifacts: problems });
  }

  private targets(): SweepTargets {
    const { marker, run_as: runAs } = this.options.handover;
    // A user is swept only when it is the execution's own.
    const hasOwnUser = runAs !== undefined && runAs.uid !== 0 && runAs.uid !== process.getuid?.();
    const uid = hasOwnUser ? runAs.uid : undefined;
    return { groups: this.groups, marker, uid, directory: this.workspaceRealPath, since: OWN_START };
  }
}

/** The report of a failure after which the session is kept for a debug agent; null: it ends. */
export function retainedFailure(
  { failure_session_retention_minutes: minutes }: Assignment,
  { report: { error_code: code, message = '', exit_code: exitCode } }: ExecutionEnd,
): SetupFailed | null {
  if (minutes === undefined || code !== 'environment_setup_failed') return null;
  return { message, exit_code: exitCode };
}

/** False: the agent works in a directory of a user, whose files are not part of the run. */
const ownsFiles = ({ in_place: inPlace }: RunnerHandover): boolean =>
  inPlace === undefined || inPlace.has_snapshots === true;

const isPrepared = ({ repositories = [], environment }: Assignment): boolean =>
  repositories.length > 0 || (environment?.setup_commands.length ?? 0) > 0;
