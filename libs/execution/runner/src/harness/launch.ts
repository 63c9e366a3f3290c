import type { Assignment, HarnessDefinition, RunnerHandover } from '#execution/runner-protocol';
import { AgentFailure } from '../acp/model-failure.js';
import { errorText } from '../runner-log.js';
import { childEnvironment, findCommand } from '../process/child-environment.js';
import { ManagedProcess } from '../process/managed-process.js';
import { environmentBeforePrivilegeDrop } from '../oz/drop-privileges.js';
import { withoutReplaced } from '../forges/forge-access.js';
import type { Workspace } from '../workspace/workspace.js';
import type { Harness } from './harnesses.js';

export interface LaunchContext {
  readonly workspace: Workspace;
  readonly assignment: Assignment;
  readonly handover: Pick<RunnerHandover, 'marker' | 'place_env'>;
}

/** The environment of set-up commands, and of the agent when a harness is given. */
export function executionEnvironment(
  { workspace, assignment, handover }: LaunchContext,
  harness?: Harness,
): Record<string, string> {
  const values = placeholderValues({ workspace, assignment });
  const own = Object.entries(harness?.env ?? {}).flatMap(([name, text]): [string, string][] => {
    const value = fillPlaceholders(text, values);
    return value === null ? [] : [[name, value]];
  });
  const layers = [
    assignment.traceparent === undefined ? {} : { TRACEPARENT: assignment.traceparent },
    handover.place_env ?? {},
    Object.fromEntries(own),
    assignment.environment?.env ?? {},
    assignment.secrets ?? {},
    harness ? agentSecrets(harness, assignment) : {},
    assignment.permission_policy === 'allow' ? {} : (harness?.permission_env ?? {}),
  ];
  const defaults = withoutReplaced(workspace.git?.variables ?? {}, layers);
  return childEnvironment({
    workspace,
    marker: handover.marker,
    runId: assignment.run_id,
    layers: [defaults, ...layers],
  });
}

export function sessionMeta(
  { session_meta: own, permission_session_meta: restricting }: Harness,
  { permission_policy: policy, traceparent }: Assignment,
): Record<string, unknown> | undefined {
  const meta = policy === 'allow' || restricting === undefined ? own : { ...own, ...restricting };
  return traceparent === undefined ? meta : { ...meta, traceparent };
}

/** Secrets of the agent alone. Throws AgentFailure when the harness has no variable for its secret. */
function agentSecrets({ id, auth_variable: variable }: Harness, assignment: Assignment): Record<string, string> {
  const { auth, variables = {} } = assignment.agent_secrets ?? {};
  if (auth === undefined) return variables;
  if (variable !== undefined) return { ...variables, [variable]: auth };
  throw new AgentFailure(`The run names a secret for harness "${id}", which has no "auth_variable" to pass it in.`);
}

/** Starts the agent's process. Rejects with AgentFailure when it is not installed or cannot be started. */
export async function launchHarness(harness: Harness, context: LaunchContext): Promise<ManagedProcess> {
  const env = executionEnvironment(context, harness);
  const { work, runAs } = context.workspace;
  const values = placeholderValues(context);
  const command = findCommand(harness.command, env['PATH'] ?? '');
  if (command === null) throw notInstalled(harness);
  // Only the user of the runner may be able to read the built-in agent's files: it drops privileges after loading them.
  const dropsPrivileges = harness.isBuiltin && runAs !== undefined;
  try {
    return await ManagedProcess.start({
      command,
      args: harness.args.flatMap((arg) => fillPlaceholders(arg, values) ?? []),
      cwd: work,
      env: dropsPrivileges ? environmentBeforePrivilegeDrop(env, runAs) : env,
      stdin: 'pipe',
      runAs: harness.isBuiltin ? undefined : runAs,
      laterUid: runAs?.uid,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notInstalled(harness);
    throw new AgentFailure(
      `The command "${harness.command}" of harness "${harness.id}" could not be started: ${errorText(error)}.`,
    );
  }
}

function notInstalled({ id, command, install_hint: hint }: Harness): AgentFailure {
  return new AgentFailure(
    `The command "${command}" of harness "${id}" was not found on the machine that runs it. To install it: ${hint}`,
  );
}

const DEFAULT_MODEL = 'auto';

/** Model and reasoning level that the run selects; undefined: the agent's default. */
export function requestedModel({ model_id: model, reasoning_level: reasoningLevel }: Assignment['harness']): {
  model?: string | undefined;
  reasoningLevel?: string | undefined;
} {
  return { model: model === DEFAULT_MODEL ? undefined : model, reasoningLevel };
}

const placeholderValues = ({ workspace, assignment }: Pick<LaunchContext, 'workspace' | 'assignment'>) => ({
  home: workspace.home,
  ...requestedModel(assignment.harness),
});

/** The text with its placeholders filled; null when the run does not name one of them. */
export function fillPlaceholders(
  text: string,
  { home, model, reasoningLevel }: ReturnType<typeof placeholderValues>,
): string | null {
  let isMissing = false;
  const values: Readonly<Record<string, string | undefined>> = { home, model, reasoning_level: reasoningLevel };
  const filled = text.replace(/\{(home|model|reasoning_level)\}/g, (_whole, name: string) => {
    const value = values[name];
    isMissing ||= value === undefined;
    return value ?? '';
  });
  return isMissing ? null : filled;
}

export function usesPlaceholder(
  { args, env = {} }: HarnessDefinition,
  placeholder: 'model' | 'reasoning_level',
): boolean {
  return [...args, ...Object.values(env)].some((text) => text.includes(`{${placeholder}}`));
}
