import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Failure, Badge, type Look } from '../../components/basics';
import { Field } from '../../components/form';
import { Diff } from '../../components/diff';
import { download } from '../../components/download';
import { compareLines } from '../../components/line-diff';
import { useOperation } from '../../components/operation';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import type { Factory } from '../webhooks/factories';

type File = Schemas['FactoryDefinitionFile'];
type Plan = Schemas['ApplyFactoryDefinitionResponse'];
type Diagnostic = Schemas['FactoryDefinitionDiagnostic'];

const EXAMPLE = `---
triggers:
  - provider: schedule
    event: cron_fired
    schedule: { cron: '0 9 * * 1-5' }
---

Summarise the open issues.
`;
/** Definition files are longer than the edits of an agent. */
const MAX_CELLS = 4_000_000;
const LOOK: Readonly<Record<string, Look>> = { create: 'good', update: 'wait', delete: 'bad', unchanged: 'off' };

/** The files of a factory: edited here or read from a directory, planned, compared and applied as a whole. */
export function Definition({ factory }: { readonly factory: Factory }) {
  const path = { factoryUid: factory.uid };
  const files = useSignal<readonly File[] | undefined>(undefined);
  const selected = useSignal('');
  const plan = useSignal<Plan | undefined>(undefined);
  const diagnostics = useSignal<readonly Diagnostic[]>([]);
  const operation = useOperation();
  const current = useResource(async () => {
    const read = await content(api.GET('/factories/{factoryUid}/definition', { params: { path } }));
    files.value ??= read.files;
    return read.files;
  }, factory.uid);
  const change = (next: readonly File[]): void => {
    files.value = next;
    plan.value = undefined;
    diagnostics.value = [];
  };
  const send = async (isDryRun: boolean): Promise<void> => {
    const body = { files: [...(files.value ?? [])] };
    const checked = await content(api.POST('/factories/{factoryUid}/definition/validate', { params: { path }, body }));
    diagnostics.value = checked.diagnostics;
    plan.value = undefined;
    if (!checked.valid) return;
    const query = isDryRun ? { dry_run: true } : {};
    plan.value = await content(api.PUT('/factories/{factoryUid}/definition', { params: { path, query }, body }));
    if (!isDryRun) await current.reload();
  };
  const shown = files.value ?? [];
  const file = shown.find((one) => one.path === selected.value) ?? shown[0];
  const before = new Map(current.data?.map((one) => [one.path, one.content]));
  const after = new Map(shown.map((one) => [one.path, one.content]));
  const changedPaths = [...new Set([...before.keys(), ...after.keys()])]
    .filter((one) => before.get(one) !== after.get(one))
    .sort();
  if (current.data === undefined && current.failure !== '') return <Failure message={current.failure} />;
  if (files.value === undefined) return <p role="status">Loading …</p>;
  return (
    <div class="history">
      <p class="muted">
        The files describe the factory and can be stored in a repository. They are applied completely or not at all.
        Resources that were created here or through the API are not in them and are not changed.
      </p>
      <div class="tools">
        <button type="button" onClick={() => exportFiles(factory, shown)}>
          Export
        </button>
        <label class="button">
          <span>Read a directory</span>
          <input
            class="hidden"
            type="file"
            multiple
            {...{ webkitdirectory: true }}
            onChange={({ currentTarget }) => {
              const chosen = [...(currentTarget.files ?? [])];
              void operation.execute(async () => change(await readFiles(chosen)));
            }}
          />
        </label>
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault();
            const input = event.currentTarget.elements.namedItem('path') as HTMLInputElement;
            const added = input.value.trim();
            if (!after.has(added))
              change([...shown, { path: added, content: added.startsWith('automations/') ? EXAMPLE : '' }]);
            selected.value = added;
            event.currentTarget.reset();
          }}
        >
          <input name="path" required aria-label="Path of a new file" placeholder="automations/daily/automation.md" />
          <button>Add file</button>
        </form>
      </div>
      {file !== undefined && (
        <section class="card trigger" aria-label="File">
          <div class="actions">
            <select
              aria-label="Shown file"
              value={file.path}
              onChange={({ currentTarget }) => {
                selected.value = currentTarget.value;
              }}
            >
              {shown.map((one) => (
                <option value={one.path} key={one.path}>
                  {one.path}
                  {before.get(one.path) === one.content ? '' : ' (changed)'}
                </option>
              ))}
            </select>
            <button type="button" class="danger" onClick={() => change(shown.filter((one) => one.path !== file.path))}>
              Remove file
            </button>
          </div>
          <Field label="Content" hint="Files never contain a secret.">
            {(control) => (
              <textarea
                {...control}
                class="code"
                rows={14}
                value={file.content}
                onInput={({ currentTarget }) =>
                  change(shown.map((one) => (one.path === file.path ? { ...one, content: currentTarget.value } : one)))
                }
              />
            )}
          </Field>
        </section>
      )}
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={operation.isBusy}
          onClick={() => void operation.execute(() => send(true))}
        >
          Plan
        </button>
        <button
          type="button"
          disabled={operation.isBusy || plan.value === undefined || plan.value.applied}
          onClick={() => void operation.execute(() => send(false))}
        >
          Apply
        </button>
        {plan.value === undefined && <span class="muted">Plan first: it shows what an apply changes.</span>}
      </div>
      <Failure message={operation.failure} />
      {diagnostics.value.length > 0 && (
        <Table label="Errors of the files" columns={['File', 'Line', 'Error']}>
          {diagnostics.value.map(({ path: place, line, column, message, code }) => (
            <tr key={`${place} ${line} ${column} ${code}`}>
              <td class="untrusted">{place}</td>
              <td>
                {line}:{column}
              </td>
              <td class="failure">{message}</td>
            </tr>
          ))}
        </Table>
      )}
      {plan.value !== undefined && <PlanTable plan={plan.value} />}
      {plan.value?.applied !== true &&
        changedPaths.map((place) => (
          <section class="card" aria-label={`Changes of ${place}`} key={place}>
            <h2 class="diff-title untrusted">{place}</h2>
            <Diff
              label={`Lines of ${place}`}
              lines={compareLines(before.get(place) ?? '', after.get(place) ?? '', MAX_CELLS)}
            />
          </section>
        ))}
    </div>
  );
}

function PlanTable({ plan }: { readonly plan: Plan }) {
  const { create, update, unchanged, delete: deleted } = plan.summary;
  return (
    <>
      <p role="status">
        <strong>{plan.applied ? 'Applied.' : 'Nothing is changed yet.'}</strong> {create} created, {update} updated,{' '}
        {deleted} deleted, {unchanged} unchanged.
      </p>
      <Table label="Plan" columns={['Action', 'Kind', 'Name', 'Changed fields']}>
        {plan.plan.map(({ action, kind, name, changes, drifted }) => (
          <tr key={`${kind} ${name}`}>
            <td>
              <Badge look={LOOK[action] ?? ''}>{action}</Badge>
            </td>
            <td>{kind}</td>
            <td class="untrusted">{name}</td>
            <td class="untrusted">
              {changes.join(', ')}
              {drifted && <div class="muted">changed outside of the files since the last apply</div>}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** One JSON file, in the form that the API and this page read. */
const exportFiles = ({ alias, uid }: Factory, files: readonly File[]): void =>
  download(`${alias ?? uid}-definition.json`, 'application/json', JSON.stringify({ files }, null, 2));

/** Their paths are relative to the chosen directory. */
const readFiles = (chosen: readonly globalThis.File[]): Promise<File[]> =>
  Promise.all(
    chosen.map(async (one) => ({
      path: one.webkitRelativePath.split('/').slice(1).join('/'),
      content: await one.text(),
    })),
  );
