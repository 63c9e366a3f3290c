import type { Readable } from 'node:stream';
import type {
  ArtifactAck,
  ChildRunAnswer,
  CommentAnswer,
  CommentRequest,
  CommentTargetAnswer,
  StartRunAnswer,
  StartRunRequest,
  WaitForRunsAnswer,
  WaitForRunsRequest,
  ArtifactContentQuery,
  ArtifactReference,
  Assignment,
  BatchAck,
  HeartbeatAck,
  RepositoryCredentialAnswer,
  Commands,
  ConversationSummaryAnswer,
  FinishRequest,
  SnapshotReason,
  WorkspaceSnapshot,
} from '#execution/runner-protocol';
import { RUNNER_PROTOCOL_VERSION } from '#execution/runner-protocol';
import { parseJson } from '#platform/kernel';
import { fields, items, text } from '../acp/fields.js';
import { errorText } from '../runner-log.js';
import { retry } from '../retry.js';
import { type HttpRequest, type HttpResponse, sendRequest } from './http-client.js';

/** The execution does not belong to this runner any more: stop everything, report nothing. */
export class LeaseLostError extends Error {}

export class RejectedError extends Error {}

/** Can be retried: no response, or status 408, 429 or 5xx. */
export class NoResponseError extends Error {}

/** The control plane is of an earlier version, which does not know a field of the request. */
export class UnknownFieldError extends Error {}

/** Requests without a response are repeated until the signal aborts. */
export const againUnless =
  (signal: AbortSignal | undefined) =>
  (error: unknown): boolean =>
    error instanceof NoResponseError && signal?.aborted !== true;

export interface SnapshotPack {
  readonly id: string;
  readonly content: Buffer;
}

export interface ControlPlaneOptions {
  readonly baseUrl: string;
  readonly executionId: string;
  readonly token: string;
  /** Random per runner process. */
  readonly instanceId: string;
  /** Called for a response that renews the lease; `sentAt` is the time of its request on `performance.now()`. */
  readonly onContact: (sentAt: number) => void;
  readonly signal: AbortSignal;
}

interface Call extends Pick<HttpRequest, 'method' | 'body' | 'timeoutMs'> {
  readonly path: string;
  /** `/commands` and `/attachments` do not renew the lease. */
  readonly renews?: boolean;
  readonly acceptedStatuses?: readonly number[];
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

const REQUEST_MS = 10_000;
const UPLOAD_MS = 60_000;
/** An invalid artifact is a fault of the agent: the execution continues. */
const ARTIFACT_REJECTED = [400, 413];
const TOOL_REJECTED = [400, 413];
/** Statuses that end an execution: its token ends with it, so an unknown token or execution means the same as 412. */
const LEASE_LOST = [401, 403, 404, 410, 412];

/** The runner protocol over HTTP, one method per call. Rejects with the three errors above. */
export class ControlPlane {
  private leaseEpoch = 0;
  /** Of the run, for requests that start others. */
  private traceHeaders: Readonly<Record<string, string>> = {};

  constructor(private readonly options: ControlPlaneOptions) {}

  /** Retries until `deadlineMs` have passed or `signal` aborts. */
  async claim(deadlineMs: number, signal?: AbortSignal): Promise<{ assignment: Assignment; sentAt: number }> {
    const body = JSON.stringify({ protocol_version: RUNNER_PROTOCOL_VERSION, instance_id: this.options.instanceId });
    const deadline = performance.now() + deadlineMs;
    const claim = async () => {
      const sentAt = performance.now();
      const response = await this.call({ method: 'POST', path: '/claim', body, timeoutMs: REQUEST_MS });
      const assignment = json<Assignment>(response);
      this.leaseEpoch = assignment.lease_epoch;
      if (assignment.traceparent !== undefined) this.traceHeaders = { traceparent: assignment.traceparent };
      return { assignment, sentAt };
    };
    const again = (error: unknown): boolean => againUnless(signal)(error) && performance.now() < deadline;
    return retry(claim, { firstMs: 100, maxMs: 2_000, signal, again });
  }

  /** Sends events that are JSON already, so that a repeated batch is the same bytes. */
  async sendEvents(eventsJson: readonly string[]): Promise<BatchAck> {
    const body = `{"lease_epoch":${this.leaseEpoch},"events":[${eventsJson.join(',')}]}`;
    const response = await this.call({ method: 'POST', path: '/events', body, timeoutMs: REQUEST_MS });
    return json<BatchAck>(response);
  }

  async heartbeat(timeoutMs: number): Promise<HeartbeatAck> {
    return json<HeartbeatAck>(await this.call({ method: 'POST', path: '/beat', body: this.withEpoch({}), timeoutMs }));
  }

  /** null: nothing newer than `version` within `waitSeconds`. */
  async commands(version: number, waitSeconds: number): Promise<Commands | null> {
    const path = this.pathOf('/commands', { version: String(version), wait: String(waitSeconds) });
    const timeoutMs = waitSeconds * 1000 + REQUEST_MS;
    const response = await this.call({ method: 'GET', path, timeoutMs, renews: false });
    return response.status === 204 ? null : json<Commands>(response);
  }

  async putTranscript(bytes: Uint8Array, format: string, sessionId: string): Promise<void> {
    const path = this.pathOf('/transcript', { format, session_id: sessionId });
    await this.call({ method: 'PUT', path, body: bytes, timeoutMs: UPLOAD_MS });
  }

  getTranscript(): Promise<Buffer | null> {
    return this.download(this.pathOf('/transcript'));
  }

  /** null: it is not stored any more. */
  getAttachment(attachmentId: string): Promise<Buffer | null> {
    return this.download(this.pathOf(`/attachments/${encodeURIComponent(attachmentId)}`), false);
  }

  async putSnapshotPack(packId: string, content: readonly Buffer[]): Promise<void> {
    const path = this.pathOf(`/snapshots/packs/${packId}`);
    await this.call({ method: 'PUT', path, body: content, timeoutMs: UPLOAD_MS });
  }

  /** The snapshot exists when it is reported with an event. `pack`: one that is sent with it. */
  async putSnapshot(
    manifest: Buffer,
    { reason, storedBytes, pack }: { reason: SnapshotReason; storedBytes: number; pack: SnapshotPack | null },
  ): Promise<WorkspaceSnapshot> {
    const inline = pack === null ? {} : { pack_id: pack.id, pack_bytes: String(pack.content.length) };
    const path = this.pathOf('/snapshots', { reason, stored_bytes: String(storedBytes), ...inline });
    const body = pack === null ? manifest : Buffer.concat([pack.content, manifest]);
    return json<WorkspaceSnapshot>(await this.call({ method: 'PUT', path, body, timeoutMs: UPLOAD_MS }));
  }

  /** The gzipped manifest; null: it is not stored any more. */
  getSnapshot(snapshotId: string): Promise<Buffer | null> {
    return this.download(this.pathOf(`/snapshots/${encodeURIComponent(snapshotId)}`));
  }

  /** Null: it is not stored any more. */
  getSnapshotPack(packId: string): Promise<Buffer | null> {
    return this.download(this.pathOf(`/snapshots/packs/${encodeURIComponent(packId)}`));
  }

  async conversationSummary(): Promise<string> {
    const path = this.pathOf('/conversation-summary');
    const response = await this.call({ method: 'GET', path, timeoutMs: REQUEST_MS, acceptedStatuses: [404] });
    // A control plane of an earlier version has no summary.
    return response.status === 404 ? '' : json<ConversationSummaryAnswer>(response).text;
  }

  async repositoryCredential(url: string): Promise<RepositoryCredentialAnswer> {
    const body = this.withEpoch({ url });
    return json(await this.call({ method: 'POST', path: '/repository-credential', body, timeoutMs: REQUEST_MS }));
  }

  startRun(request: Omit<StartRunRequest, 'lease_epoch'>): Promise<StartRunAnswer> {
    // Skills of an agent identity are looked up meanwhile.
    return this.toolCall('POST', '/runs', request, { timeoutMs: UPLOAD_MS, headers: this.traceHeaders });
  }

  async childRun(runId: string): Promise<ChildRunAnswer> {
    const path = this.pathOf(`/runs/${encodeURIComponent(runId)}`);
    return json<ChildRunAnswer>(await this.call({ method: 'GET', path, timeoutMs: REQUEST_MS }));
  }

  waitForRuns(request: Omit<WaitForRunsRequest, 'lease_epoch'>, signal: AbortSignal): Promise<WaitForRunsAnswer> {
    return this.toolCall('POST', '/runs/wait', request, { timeoutMs: request.wait * 1000 + REQUEST_MS, signal });
  }

  comment(request: Omit<CommentRequest, 'lease_epoch'>): Promise<CommentAnswer> {
    return this.toolCall('POST', '/comments', request, { timeoutMs: request.wait * 1000 + REQUEST_MS });
  }

  /** Null: the agent cannot comment. */
  async commentTarget(): Promise<string | null> {
    const path = this.pathOf('/comments');
    return json<CommentTargetAnswer>(await this.call({ method: 'GET', path, timeoutMs: REQUEST_MS })).target;
  }

  /** The lease was renewed when the request arrived, and not when it was answered. An invalid request is a fault of the agent. */
  private async toolCall<Answer>(
    method: 'POST',
    path: string,
    body: object,
    options: Pick<Call, 'timeoutMs' | 'signal' | 'headers'>,
  ): Promise<Answer | { problem: string }> {
    const response = await this.call({
      ...options,
      method,
      path,
      body: this.withEpoch(body),
      renews: false,
      acceptedStatuses: TOOL_REJECTED,
    });
    return isOk(response) ? json<Answer>(response) : { problem: problemOf(response) };
  }

  /** @param content the bytes, once per call. */
  putArtifact(
    artifact: Omit<ArtifactContentQuery, 'lease_epoch'>,
    content: Readable,
    signal?: AbortSignal,
  ): Promise<string | null> {
    const path = this.pathOf('/artifacts', { ...artifact });
    return this.artifactCall({ method: 'PUT', path, body: content, timeoutMs: UPLOAD_MS, signal });
  }

  /** Rejects with {@link UnknownFieldError} if the control plane is of an earlier version, which has no `created_by_run`. */
  reportReference(reference: Omit<ArtifactReference, 'lease_epoch'>, signal?: AbortSignal): Promise<string | null> {
    const body = this.withEpoch(reference);
    return this.artifactCall({ method: 'POST', path: '/artifacts', body, timeoutMs: REQUEST_MS, signal });
  }

  /** Resolves to why the artifact was rejected permanently, or null; the execution continues. */
  private async artifactCall(call: Call): Promise<string | null> {
    const response = await this.call({ ...call, acceptedStatuses: ARTIFACT_REJECTED });
    if (isOk(response)) {
      json<ArtifactAck>(response);
      return null;
    }
    if (isUnknownField(response, '/created_by_run')) throw new UnknownFieldError(problemOf(response));
    return problemOf(response);
  }

  async finish(request: Omit<FinishRequest, 'lease_epoch'>): Promise<void> {
    await this.call({ method: 'POST', path: '/finish', body: this.withEpoch(request), timeoutMs: REQUEST_MS });
  }

  private async download(path: string, renews = true): Promise<Buffer | null> {
    const response = await this.call({ method: 'GET', path, timeoutMs: UPLOAD_MS, renews, acceptedStatuses: [404] });
    return response.status === 404 ? null : response.body;
  }

  private withEpoch(body: object): string {
    return JSON.stringify({ lease_epoch: this.leaseEpoch, ...body });
  }

  private pathOf(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
    const known = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return `${path}?${new URLSearchParams([['lease_epoch', String(this.leaseEpoch)], ...known]).toString()}`;
  }

  private async call({
    method,
    path,
    body,
    timeoutMs,
    renews = true,
    acceptedStatuses = [],
    signal: own,
    headers = {},
  }: Call): Promise<HttpResponse> {
    const { baseUrl, executionId, token, signal, onContact } = this.options;
    const sentAt = performance.now();
    const contentType = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
    const response = await sendRequest({
      method,
      url: new URL(`${baseUrl.replace(/\/$/, '')}/runner/v1/executions/${encodeURIComponent(executionId)}${path}`),
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      body,
      timeoutMs,
      signals: own ? [signal, own] : [signal],
    }).catch((error: unknown) => {
      throw new NoResponseError(`${method} ${withoutQuery(path)}: ${errorText(error)}`);
    });
    const { status } = response;
    if (isOk(response) || acceptedStatuses.includes(status)) {
      if (renews && isOk(response)) onContact(sentAt);
      return response;
    }
    const message = `${method} ${withoutQuery(path)} returned status ${status}`;
    if (LEASE_LOST.includes(status)) throw new LeaseLostError(message);
    if (status >= 500 || status === 408 || status === 429) throw new NoResponseError(message);
    const detail = detailOf(response);
    throw new RejectedError(detail === null ? message : `${message}: ${detail}`);
  }
}

/** A proxy may have responded without a problem document. */
const detailOf = ({ body }: HttpResponse): string | null =>
  text(fields(parseJson(body.toString('utf8')))['detail']) ?? null;
const problemOf = (response: HttpResponse): string =>
  detailOf(response) ?? `was rejected with status ${response.status}`;

/** Whether the problem document names the field as unknown, as control planes do that do not ignore such fields. */
const isUnknownField = ({ status, body }: HttpResponse, pointer: string): boolean =>
  status === 400 &&
  items(fields(parseJson(body.toString('utf8')))['errors']).some((error) => {
    const { pointer: place, detail } = fields(error);
    return place === pointer && text(detail)?.startsWith('is not a known field') === true;
  });

const isOk = ({ status }: HttpResponse): boolean => status >= 200 && status < 300;

/** A body that is not JSON is from a proxy. */
function json<T>({ status, body }: HttpResponse): T {
  const value = parseJson(body.toString('utf8'));
  if (value === undefined) throw new NoResponseError(`The response ${status} is not JSON.`);
  return value as T;
}

const withoutQuery = (path: string): string => path.split('?')[0] ?? path;
