import type { Schemas } from '../../api/client';
import { ORIGIN } from '../../base';
import { Link, Time } from '../../components/basics';

interface NextStep {
  readonly text: string;
  /** A section of the console. */
  readonly section?: string;
  readonly label?: string;
}

const RERUN = 'Start the run again.';
const CREDENTIALS: NextStep = {
  text: 'The agent could not sign in. Store the key of its model provider as a secret, and name the secret in the run or in its environment.',
  section: 'secrets',
  label: 'Secrets',
};
const WORKER: NextStep = {
  text: 'The worker was lost or none accepted the run. Check that workers are connected, then start the run again.',
  section: 'workers',
  label: 'Workers',
};
const PROVIDER: NextStep = { text: `The connection to the model provider failed. ${RERUN}` };

/** What to do after an error. Codes that are missing here have their page only. */
const NEXT: Readonly<Record<string, NextStep>> = {
  environment_setup_failed: {
    text: 'Read the output of the failed set-up command, correct the environment, and start the run again.',
    section: 'environments',
    label: 'Environments',
  },
  agent_process_failed: {
    text: 'The process of the agent ended. Read its last messages. If it happens again, check that the agent is installed on the worker.',
    section: 'workers',
    label: 'Workers and agents',
  },
  agent_stream_network_error: PROVIDER,
  agent_stream_failure: PROVIDER,
  infrastructure_timeout: WORKER,
  lease_lost: WORKER,
  resource_unavailable: WORKER,
  rate_limited: { text: 'The rate limit of the model provider is used up. Start the run again later.' },
  insufficient_credits: {
    text: 'The account at the model provider has no credit. Add credit, then start the run again.',
  },
  budget_exceeded: {
    text: 'The run has reached its limit of cost, tokens or time. Start it again with a higher limit, or with a smaller task.',
  },
  content_policy_violation: {
    text: 'The model provider rejected the content. Change the prompt, then start a new run.',
  },
  external_authentication_required: CREDENTIALS,
  integration_not_configured: CREDENTIALS,
  integration_disabled: CREDENTIALS,
  resource_not_found: {
    text: 'Something that the run needs does not exist any more, such as its environment or a secret.',
  },
  internal_error: { text: `An error of the server. ${RERUN} The log of the server has the reason.` },
};

interface OutcomeProps {
  readonly status: Schemas['RunStatusMessage'];
  readonly environmentId: string | undefined;
  readonly onOpenDebug: () => void;
}

/** Why the run is in its state, and what to do about it. */
export function Outcome({ status, environmentId, onOpenDebug }: OutcomeProps) {
  const { message, error_code: code, detail, session_debug_until: until, debug_agent_active: isActive } = status;
  if (code === undefined)
    return (
      <p class="muted" role="status">
        {message}
      </p>
    );
  const next = NEXT[code];
  const section = next?.section;
  const target =
    section === 'environments' && environmentId !== undefined
      ? `${section}/${encodeURIComponent(environmentId)}`
      : section;
  return (
    <section class="card outcome" aria-label="Why the run failed">
      <p class="failure" role="status">
        <bdi>{message}</bdi>
      </p>
      {detail !== undefined && <pre tabIndex={0}>{detail}</pre>}
      {next && <p>{next.text}</p>}
      {until !== undefined && (
        <p>
          The workspace is open for debugging; this ends <Time at={until} />.{' '}
          {isActive === true ? 'The debug agent is working.' : 'A message starts an agent in it.'}
        </p>
      )}
      <div class="actions">
        {until !== undefined && (
          <button type="button" onClick={onOpenDebug}>
            Open debug window
          </button>
        )}
        {target !== undefined && <Link to={target}>{target === section ? next?.label : 'Open the environment'}</Link>}
        <a href={`${ORIGIN}/problems/${code}`} target="_blank" rel="noopener">
          About <code>{code}</code>
        </a>
      </div>
    </section>
  );
}
