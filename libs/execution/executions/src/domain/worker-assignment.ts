import { truncateUtf8 } from '#platform/kernel';
import { EXECUTION_ENV, MAX_FRAME_BYTES, type TaskAssignment } from '#execution/worker-protocol';
import type { AgentConfig } from './run.js';

export interface WorkerOffer {
  readonly connectionId: string;
  readonly executionId: string;
  readonly runId: string;
  readonly title: string;
  readonly prompt: string;
  readonly config: AgentConfig;
  readonly conversationId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface OfferExtras {
  /** Good for this execution only. */
  readonly token: string;
  readonly dockerImage: string | null;
  /** Of the runner, for backends of the published daemon that mount it. */
  readonly sidecarImage: string | null;
  /** Of the harness, by the names of their variables; for workers whose runner does not ask for them itself. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Bytes of a prompt that does not fit whole; its escapes take at most six times as many. */
const SHORT_PROMPT_BYTES = 65_536;

/**
 * The frame of an offer. The runner asks for prompt and configuration over HTTP, so what does not fit into a frame is left
 * out: of a long prompt the end, then the configuration. The caller has masked secret values of the configuration.
 */
export function toAssignmentFrame(offer: WorkerOffer, extras: OfferExtras): TaskAssignment {
  const short = truncateUtf8(offer.prompt, SHORT_PROMPT_BYTES).text;
  return (
    fitting(frame(offer, extras, { prompt: offer.prompt, config: offer.config })) ??
    fitting(frame(offer, extras, { prompt: short, config: offer.config })) ??
    frame(offer, extras, { prompt: short })
  );
}

function frame(
  offer: WorkerOffer,
  { token, dockerImage, sidecarImage, secrets }: OfferExtras,
  { prompt, config }: { prompt: string; config?: AgentConfig },
): TaskAssignment {
  return {
    type: 'task_assignment',
    data: {
      task_id: offer.runId,
      execution_id: offer.executionId,
      task: {
        id: offer.runId,
        title: offer.title,
        task_definition: { prompt },
        created_at: offer.createdAt.toISOString(),
        updated_at: offer.updatedAt.toISOString(),
        ...(config === undefined ? {} : { agent_config_snapshot: config }),
        ...(offer.conversationId === null ? {} : { agent_conversation_id: offer.conversationId }),
      },
      ...(dockerImage === null ? {} : { docker_image: dockerImage }),
      ...(sidecarImage === null ? {} : { sidecar_image: sidecarImage }),
      env_vars: {
        ...secrets,
        [EXECUTION_ENV.executionId]: offer.executionId,
        [EXECUTION_ENV.executionToken]: token,
      },
    },
  };
}

const fitting = (candidate: TaskAssignment): TaskAssignment | null =>
  Buffer.byteLength(JSON.stringify(candidate)) <= MAX_FRAME_BYTES ? candidate : null;
