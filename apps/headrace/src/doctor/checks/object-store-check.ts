import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Settings, SettingsError } from '#platform/config';
import { pluginExtends } from '#platform/plugins';
import { ObjectStore, openConfiguredS3 } from '#platform/storage';
import { type CheckResult, type DoctorCheck, fail, ok, reasonOf, skip } from '../check-result.js';
import { testWrite } from './machine-checks.js';

const CONTENT = Buffer.from('written by headrace doctor, which removes it again');

export const objectStoreCheck: DoctorCheck = {
  name: 'object store',
  uses: [
    'OBJECT_STORE_URL',
    'S3_ENDPOINT',
    'S3_REGION',
    'S3_FORCE_PATH_STYLE',
    'S3_ACCESS_KEY_ID',
    'S3_SECRET_ACCESS_KEY',
    'HEADRACE_DATA_DIR',
  ],
  examine: async (context) => {
    const { settings } = context;
    if (settings.objectStoreUrl !== undefined) return inBucket(settings);
    const plugins = await context.plugins().catch(() => []);
    const plugin = plugins.find((one) => pluginExtends(one, ObjectStore));
    return plugin ? skip(`not checked: the plugin ${plugin.name} adds the object store`) : onDisk(settings);
  },
};

/** Does not create directories, because the server may run as another user. */
async function onDisk({ dataDir }: Settings): Promise<CheckResult> {
  const directory = join(dataDir, 'objects');
  try {
    await access(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return ok(`on disk, in ${directory}; created with the first object`);
    return skip(`not checked: the data directory cannot be used (${reasonOf(error)})`);
  }
  try {
    await testWrite(directory);
    return ok(`on disk, in ${directory}: writes, reads and deletes`);
  } catch (error) {
    return fail(
      `${directory} cannot be written (${reasonOf(error)})`,
      `Make it writable for user ${process.getuid?.() ?? ''}, or run Headrace as the owner of ${directory}.`,
    );
  }
}

async function inBucket(settings: Settings): Promise<CheckResult> {
  const bucket = settings.objectStoreUrl?.bucket ?? '';
  const place = `bucket ${bucket} at ${settings.s3Endpoint ?? 'Amazon S3'}`;
  let store: ObjectStore | null;
  try {
    store = await openConfiguredS3(settings);
  } catch (error) {
    const message = error instanceof SettingsError ? (error.problems[0] ?? '') : reasonOf(error);
    const reason = message.replace(/^.*cannot be used: /, '').replace(/\.$/, '');
    return fail(
      `${place} cannot be used: ${reason}`,
      'Fix OBJECT_STORE_URL and the settings that begin with S3_, or unset them to keep objects on disk; see docs/operations/object-storage.md.',
    );
  }
  if (!store) return skip('not configured');
  const key = `doctor/${randomUUID()}`;
  let step = 'write';
  try {
    await store.put(key, CONTENT, { contentType: 'text/plain' });
    step = 'read';
    const object = await store.get(key);
    if (object === null || !CONTENT.equals(await buffer(object.stream)))
      throw new Error('the object has another content than was written');
    step = 'delete';
    await store.delete(key);
    return ok(`${place}: writes, reads and deletes`);
  } catch (error) {
    return fail(
      `${place} does not allow to ${step} an object (${reasonOf(error)})`,
      'Allow s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket to these credentials; see docs/operations/object-storage.md.',
    );
  } finally {
    store.close();
  }
}
