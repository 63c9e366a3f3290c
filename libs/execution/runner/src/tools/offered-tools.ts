import type { PermissionBroker } from '../acp/permission-broker.js';
import type { ExecutionOptions } from '../execution-options.js';
import { retryTransient } from '../transient.js';
import { ChildRunTools } from './child-runs.js';
import { commentOnSource } from './comment-on-source.js';
import type { RunTool } from './run-tool.js';
import { runTools, type RunToolsOptions } from './run-tools.js';

interface ToolParts extends Pick<RunToolsOptions, 'artifacts' | 'pullRequests' | 'files' | 'emit'> {
  readonly permissions: PermissionBroker;
}

/** The tools of an execution, by what its assignment and the control plane allow. */
export async function offeredTools(options: ExecutionOptions, parts: ToolParts): Promise<readonly RunTool[]> {
  const { assignment, plane, redactor, termination, log } = options;
  const { permissions, ...rest } = parts;
  const { signal } = termination;
  const redact = (text: string): string => redactor.text(text);
  const target =
    assignment.has_source === true ? await retryTransient(() => plane.commentTarget(), { signal, log }) : null;
  return runTools({
    ...rest,
    ask: (question, call) => permissions.ask(question, call),
    children:
      assignment.child_runs === true
        ? new ChildRunTools({ plane, redact, signal, turnSignal: () => permissions.turnSignal })
        : null,
    comment: target === null ? null : commentOnSource(target, { plane, redact, signal }),
    signal,
  });
}
