import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { api, content, type Schemas } from '../../api/client';
import { API_URL } from '../../base';
import { Action, Failure } from '../../components/basics';
import { copy } from '../../components/copy';
import { useOperation } from '../../components/operation';
import { bytes } from '../../format';
import { curlOf } from './curl';

const MAX_FILES = 25;
const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

interface FollowupProps {
  readonly runId: string;
  readonly isDebug: boolean;
  readonly onSent: () => void;
}

/** Uploads files and returns how a follow-up names them. */
async function upload(runId: string, files: readonly File[]): Promise<Schemas['FollowupAttachment'][]> {
  if (files.length === 0) return [];
  const body = {
    files: files.map(({ name, type }) => ({
      filename: name,
      mime_type: MEDIA_TYPE.test(type) ? type : 'application/octet-stream',
    })),
  };
  const params = { path: { runId } };
  const { attachments } = await content(api.POST('/agent/runs/{runId}/attachments/prepare', { params, body }));
  await Promise.all(
    attachments.map(async ({ upload_url: url }, index) => {
      const file = files[index];
      const { ok, status } = await fetch(url, { method: 'PUT', body: file ?? null });
      if (!ok) throw new Error(`${file?.name ?? 'A file'} was not accepted (status ${status}).`);
    }),
  );
  return attachments.map(({ attachment_id: id }) => ({ attachment_id: id }));
}

export function Followup({ runId, isDebug, onSent }: FollowupProps) {
  const message = useSignal('');
  const files = useSignal<readonly File[]>([]);
  const refusal = useSignal('');
  const picker = useRef<HTMLInputElement>(null);
  const { isBusy, failure, execute } = useOperation();
  const isEmpty = message.value.trim() === '' && files.value.length === 0;
  const add = (added: readonly File[]): void => {
    const tooLarge = added.find(({ size }) => size > MAX_FILE_BYTES);
    refusal.value = tooLarge === undefined ? '' : `${tooLarge.name} is larger than ${bytes(MAX_FILE_BYTES)}.`;
    const accepted = added.filter(({ size }) => size <= MAX_FILE_BYTES);
    files.value = [...files.value, ...accepted].slice(0, MAX_FILES);
  };
  const send = async (): Promise<void> => {
    if (isEmpty || isBusy) return;
    await execute(async () => {
      const attachments = await upload(runId, files.value);
      const body = { message: message.value, ...(attachments.length > 0 && { attachments }) };
      await content(api.POST('/agent/runs/{runId}/followups', { params: { path: { runId } }, body }));
      message.value = '';
      files.value = [];
      onSent();
    });
  };
  const label = isDebug ? 'Message to the debug agent' : 'Message to the agent';
  return (
    <form
      class="followup"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <textarea
        id="followup"
        aria-label={label}
        placeholder={isDebug ? 'Send a message to the debug agent' : 'Send a message to the agent'}
        rows={2}
        value={message.value}
        onInput={({ currentTarget }) => {
          message.value = currentTarget.value;
        }}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length === 0) return;
          event.preventDefault();
          add(pasted);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void send();
        }}
      />
      <button class="primary" disabled={isBusy || isEmpty}>
        {isBusy ? 'Sending …' : 'Send'}
      </button>
      <div class="actions">
        <input
          ref={picker}
          id="attachments"
          class="hidden"
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Attachments"
          onChange={({ currentTarget }) => {
            add([...(currentTarget.files ?? [])]);
            currentTarget.value = '';
          }}
        />
        <button type="button" class="plain" onClick={() => picker.current?.click()}>
          Attach files
        </button>
        <Action
          class="plain"
          run={() => copy(curlOf('POST', `${API_URL}/agent/runs/${runId}/followups`, { message: message.value }))}
        >
          Copy as curl
        </Action>
        {files.value.map((file, index) => (
          <button
            type="button"
            class="chip"
            aria-label={`Remove ${file.name}`}
            onClick={() => {
              files.value = files.value.filter((_, other) => other !== index);
            }}
          >
            <bdi>{file.name}</bdi> {bytes(file.size)} ✕
          </button>
        ))}
      </div>
      <Failure message={failure === '' ? refusal.value : failure} />
    </form>
  );
}
