import { parseArgs } from 'node:util';
import { onlyPositional } from '../cli/arguments.js';
import { CommandError, type CommandModule } from '../cli/command.js';
import { printResult } from '../cli/output.js';
import { printable } from '../cli/printable.js';
import { type DefinitionFile, readDirectory } from '../definition/read-directory.js';
import { renderDiagnostics } from '../definition/render-diagnostics.js';
import { type AppliedPlan, renderPlan } from '../definition/render-plan.js';
import { writeDirectory } from '../definition/write-directory.js';
import { type ApiClient, RefusedByApi } from '../remote/api-client.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';
import { findFactory, type RemoteFactory } from '../remote/find-factory.js';

const FACTORY = { ...REMOTE_OPTIONS, factory: { type: 'string' } } as const;
const APPLY_OPTIONS = { ...FACTORY, 'dry-run': { type: 'boolean' } } as const;
const EXPORT_OPTIONS = { ...FACTORY, force: { type: 'boolean' } } as const;

interface ManagedWebhook {
  readonly uid: string;
  readonly ingress_url: string;
}

/** The plan goes to standard output, everything else to standard error. Exit code 1 when nothing was applied. */
export const apply: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: APPLY_OPTIONS, allowPositionals: true });
    const files = readDirectory(onlyPositional('directory', positionals));
    const api = await connect(values);
    const factory = await findFactory(api, values.factory);
    process.stderr.write(`Factory ${printable(factory.name)} (${factory.uid}), ${sizeOf(files)}.\n`);
    const result = await put(api, factory, files, values['dry-run'] === true);
    if (result === null) {
      process.stderr.write(`headrace: nothing was applied.\n`);
      return 1;
    }
    printResult(values, result, renderPlan(result).trimEnd());
    await tellAddresses(api, factory, result);
    return 0;
  },
};

/** Writes the files of a factory as it is. */
export const exportFiles: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: EXPORT_OPTIONS, allowPositionals: true });
    const directory = onlyPositional('directory', positionals);
    const api = await connect(values);
    const factory = await findFactory(api, values.factory);
    const { files } = await api.request<{ files: DefinitionFile[] }>('GET', `/factories/${factory.uid}/definition`);
    writeDirectory(directory, files, values.force === true);
    process.stderr.write(`Factory ${printable(factory.name)} (${factory.uid}), ${sizeOf(files)}.\n`);
    const paths = files.map(({ path }) => path);
    printResult(values, paths, paths.join('\n'));
    return 0;
  },
};

/** Null when there are diagnostics, which it prints. */
async function put(
  api: ApiClient,
  { uid }: RemoteFactory,
  files: readonly DefinitionFile[],
  isDry: boolean,
): Promise<AppliedPlan | null> {
  try {
    const query = isDry ? '?dry_run=true' : '';
    return await api.request<AppliedPlan>('PUT', `/factories/${uid}/definition${query}`, { files });
  } catch (error) {
    const text = error instanceof RefusedByApi ? renderDiagnostics(error.body) : null;
    if (text === null) throw error;
    process.stderr.write(text);
    return null;
  }
}

/** Where the senders of new webhooks post to. What was applied is applied, whether this can be told or not. */
async function tellAddresses(api: ApiClient, { uid }: RemoteFactory, { applied, plan }: AppliedPlan): Promise<void> {
  const made = plan.filter(({ kind, action }) => applied && kind === 'webhook' && action === 'create');
  if (made.length === 0) return;
  try {
    const { webhooks } = await api.request<{ webhooks: ManagedWebhook[] }>('GET', `/factories/${uid}/webhooks`);
    const addresses = new Map(webhooks.map((webhook) => [webhook.uid, webhook.ingress_url]));
    const lines = made.map((webhook) => `Webhook ${webhook.name}: ${addresses.get(webhook.uid ?? '') ?? 'is gone'}\n`);
    process.stderr.write(lines.join(''));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    process.stderr.write(`The addresses of new webhooks cannot be told: ${error.message}\n`);
  }
}

function sizeOf(files: readonly DefinitionFile[]): string {
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  return `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes`;
}
