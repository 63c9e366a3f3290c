import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, ApiProblem, content, messageOf, type Schemas } from '../../api/client';
import { API_URL } from '../../base';
import { Failure } from '../../components/basics';
import { textOf } from '../../components/operation';
import { navigate } from '../../router';

type Request = Schemas['RunAgentRequest'];

const EXAMPLE = '```sh\necho "hello from the agent" > hello.txt\ncat hello.txt\n```';

/** Only fields with a value, as the API documents them. */
function toRequest(form: FormData): Request {
  const value = (name: string): string => textOf(form, name).trim();
  const config = {
    ...(value('environment') !== '' && { environment_id: value('environment') }),
    ...(value('harness') !== '' && { harness: { type: value('harness') } }),
    ...(value('model') !== '' && { model_id: value('model') }),
    ...(value('host') !== '' && { worker_host: value('host') }),
  };
  return {
    prompt: textOf(form, 'prompt'),
    ...(value('title') !== '' && { title: value('title') }),
    ...(Object.keys(config).length > 0 && { config }),
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const asCurl = (request: Request): string =>
  `curl -sS ${API_URL}/agent/runs -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(request))}`;

export function NewRun({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const harnesses = useSignal<readonly Schemas['HarnessItem'][]>([]);
  const environments = useSignal<Schemas['ListEnvironmentsResponse']['environments']>([]);
  const failure = useSignal('');
  const curl = useSignal('');
  const isBusy = useSignal(false);
  useEffect(() => {
    dialog.current?.showModal();
    // The form is usable without these lists.
    void content(api.GET('/agent/harnesses')).then(
      (found) => {
        harnesses.value = found.harnesses;
      },
      () => undefined,
    );
    void content(api.GET('/agent/environments')).then(
      (found) => {
        environments.value = found.environments;
      },
      () => undefined,
    );
  }, []);
  const create = async (data: FormData): Promise<void> => {
    isBusy.value = true;
    failure.value = '';
    try {
      const { run_id: id } = await content(api.POST('/agent/runs', { body: toRequest(data) }));
      navigate(`runs/${id}`);
    } catch (error) {
      const fields = error instanceof ApiProblem ? error.fields : [];
      failure.value =
        fields.length === 0
          ? messageOf(error)
          : fields.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join('; ');
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="new-run" onClose={onClose}>
      <form
        ref={form}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create(new FormData(event.currentTarget));
        }}
      >
        <h2 id="new-run">New run</h2>
        <div class="field">
          <label for="prompt">Prompt</label>
          <textarea id="prompt" name="prompt" class="code" rows={6} required defaultValue="" placeholder={EXAMPLE} />
          <span class="hint">The built-in agent executes fenced blocks of shell commands; it needs no model.</span>
        </div>
        <div class="field">
          <label for="title">Title</label>
          <input id="title" name="title" maxLength={512} placeholder="The first line of the prompt" />
        </div>
        <div class="pair">
          <div class="field">
            <label for="harness">Agent</label>
            <select id="harness" name="harness">
              <option value="">Default</option>
              {harnesses.value.map(({ id }) => (
                <option value={id}>{id}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="model">Model</label>
            <input id="model" name="model" placeholder="Default of the agent" />
          </div>
          <div class="field">
            <label for="environment">Environment</label>
            <select id="environment" name="environment">
              <option value="">None</option>
              {environments.value.map(({ uid, config }) => (
                <option value={uid}>{config.name ?? uid}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="host">Worker host</label>
            <input id="host" name="host" placeholder="Hosted" />
          </div>
        </div>
        <Failure message={failure.value} />
        {curl.value !== '' && <pre tabIndex={0}>{curl.value}</pre>}
        <div class="actions">
          <button class="primary" disabled={isBusy.value}>
            {isBusy.value ? 'Creating …' : 'Create run'}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <button
            type="button"
            class="plain"
            onClick={() => {
              if (form.current) curl.value = asCurl(toRequest(new FormData(form.current)));
            }}
          >
            As curl
          </button>
        </div>
      </form>
    </dialog>
  );
}
