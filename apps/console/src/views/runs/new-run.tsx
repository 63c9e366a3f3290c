import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { api, content, type Schemas } from '../../api/client';
import { API_URL } from '../../base';
import { ConfigFields, configOf } from '../../components/config-fields';
import { DialogForm, Field } from '../../components/form';
import { textOf } from '../../components/operation';
import { navigate } from '../../router';
import { quoted } from '../run/curl';

type Request = Schemas['RunAgentRequest'];

const EXAMPLE = '```sh\necho "hello from the agent" > hello.txt\ncat hello.txt\n```';
const MAX_ATTACHMENTS = 5;

const filesOf = (data: FormData): File[] =>
  data.getAll('attachments').filter((file): file is File => file instanceof File && file.name !== '');

/** `key=value` in each line; a line without `=` is a key without a value. */
function labelsOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [key = ''] = line.split('=');
      return [key.trim(), line.slice(key.length + 1).trim()];
    }),
  );
}

/** In parts, because the arguments of one call are limited. */
async function base64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let start = 0; start < bytes.length; start += 0x8000)
    text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}

/** Only fields with a value, as the API documents them. `encode`: the contents of a file as text. */
async function toRequest(data: FormData, encode: (file: File) => Promise<string> | string): Promise<Request> {
  const title = textOf(data, 'title').trim();
  const config = configOf(data);
  const metadata = labelsOf(textOf(data, 'labels'));
  const attachments = await Promise.all(
    filesOf(data).map(async (file) => ({
      file_name: file.name,
      mime_type: file.type || 'application/octet-stream',
      data: await encode(file),
    })),
  );
  return {
    prompt: textOf(data, 'prompt'),
    ...(title !== '' && { title }),
    ...(config !== undefined && { config }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(attachments.length > 0 && { attachments }),
  };
}

/** The shell reads the attachments, whose contents would be too long to copy. */
async function asCurl(data: FormData): Promise<string> {
  const places: { readonly mark: string; readonly name: string }[] = [];
  const request = await toRequest(data, ({ name }) => {
    const mark = `file-${Math.random().toString(36).slice(2)}`;
    places.push({ mark, name });
    return mark;
  });
  const body = places.reduce(
    (text, { mark, name }) => text.replace(mark, () => `'"$(base64 < ${quoted(name)} | tr -d '\\n')"'`),
    quoted(JSON.stringify(request)),
  );
  return `curl -sS ${API_URL}/agent/runs -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d ${body}`;
}

export function NewRun({ onClose }: { readonly onClose: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const curl = useSignal('');
  return (
    <DialogForm
      title="New run"
      submit="Create run"
      onClose={onClose}
      send={async (data) => {
        const body = await toRequest(data, base64);
        const { run_id: id } = await content(api.POST('/agent/runs', { params: {}, body }));
        navigate(`runs/${id}`);
      }}
      actions={
        <button
          ref={button}
          type="button"
          class="plain"
          onClick={() => {
            const { form } = button.current ?? {};
            if (form)
              void asCurl(new FormData(form)).then((text) => {
                curl.value = text;
              });
          }}
        >
          As curl
        </button>
      }
    >
      <Field
        label="Prompt"
        pointer="/prompt"
        hint="The built-in agent executes fenced blocks of shell commands; it needs no model."
      >
        {(control) => (
          <textarea {...control} name="prompt" class="code" rows={6} required defaultValue="" placeholder={EXAMPLE} />
        )}
      </Field>
      <Field label="Title" pointer="/title">
        {(control) => <input {...control} name="title" maxLength={512} placeholder="The first line of the prompt" />}
      </Field>
      <ConfigFields pointer="/config" />
      <div class="pair">
        <Field label="Attachments" pointer="/attachments" hint={`At most ${MAX_ATTACHMENTS} files, beside the prompt.`}>
          {(control) => <input {...control} name="attachments" type="file" multiple />}
        </Field>
        <Field label="Labels" pointer="/metadata" hint="One in each line, with which the list of runs is filtered.">
          {(control) => <textarea {...control} name="labels" class="code" rows={2} placeholder="key=value" />}
        </Field>
      </div>
      {curl.value !== '' && <pre tabIndex={0}>{curl.value}</pre>}
    </DialogForm>
  );
}
