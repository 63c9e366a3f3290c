import { CommandError, flag } from '../cli/command.js';
import { printable, printResult } from '../cli/output.js';
import { FACTORY_OPTION } from '../cli/shared-options.js';
import { type DefinitionFile, readDirectory, writeDirectory } from '../definition/definition-directory.js';
import { type AppliedPlan, renderDiagnostics, renderPlan } from '../definition/render-plan.js';
import { type ApiClient, ApiError } from '../remote/api-client.js';
import { apiCommand } from '../remote/connect.js';
import { findFactory, type RemoteFactory } from '../remote/find-factory.js';

interface ManagedWebhook {
  readonly uid: string;
  readonly ingress_url: string;
}

/** The plan goes to standard output, everything else to standard error. Exit code 1 when nothing was applied. */
export const apply = apiCommand({
  argument: 'directory',
  options: { 'dry-run': flag('Print the plan without applying it.'), ...FACTORY_OPTION },
  run: async (api, values, directory) => {
    const files = readDirectory(directory);
    const factory = await findFactory(api, values.factory);
    process.stderr.write(`Factory ${printable(factory.name)} (${factory.uid}), ${sizeOf(files)}.\n`);
    const result = await put(api, factory, files, values['dry-run']);
    if (result === null) {
      process.stderr.write(`headrace: nothing was applied.\n`);
      return 1;
    }
    printResult(values, result, renderPlan(result).trimEnd());
    await printWebhookUrls(api, factory, result);
    return 0;
  },
});

export const exportFiles = apiCommand({
  argument: 'directory',
  options: { force: flag('Overwrite files of a directory that is not empty.'), ...FACTORY_OPTION },
  run: async (api, values, directory) => {
    const factory = await findFactory(api, values.factory);
    const { files } = await api.get<{ files: DefinitionFile[] }>(`/factories/${factory.uid}/definition`);
    writeDirectory(directory, files, values.force);
    process.stderr.write(`Factory ${printable(factory.name)} (${factory.uid}), ${sizeOf(files)}.\n`);
    const paths = files.map(({ path }) => path);
    printResult(values, paths, paths.join('\n'));
  },
});

/** Applies the definition. Prints diagnostics and returns null when there are any. */
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
    const text = error instanceof ApiError ? renderDiagnostics(error.body) : null;
    if (text === null) throw error;
    process.stderr.write(text);
    return null;
  }
}

/** Prints the URLs of new webhooks. The definition is applied already, so a failure is only a warning. */
async function printWebhookUrls(api: ApiClient, { uid }: RemoteFactory, { applied, plan }: AppliedPlan): Promise<void> {
  const made = plan.filter(({ kind, action }) => applied && kind === 'webhook' && action === 'create');
  if (made.length === 0) return;
  try {
    const { webhooks } = await api.get<{ webhooks: ManagedWebhook[] }>(`/factories/${uid}/webhooks`);
    const addresses = new Map(webhooks.map((webhook) => [webhook.uid, webhook.ingress_url]));
    const lines = made.map(
      (webhook) => `Webhook ${webhook.name}: ${addresses.get(webhook.uid ?? '') ?? 'deleted meanwhile'}\n`,
    );
    process.stderr.write(lines.join(''));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    process.stderr.write(`The URLs of new webhooks are not available: ${error.message}\n`);
  }
}

function sizeOf(files: readonly DefinitionFile[]): string {
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  return `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes`;
}
