import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type AuditEvent, AuditModule } from '#platform/audit';
import { ensureDataDir, parseSettings, type Settings, withSettings } from '#platform/config';
import { createBackup } from '../backup/create-backup.js';
import { readManifest } from '../backup/backup-manifest.js';
import { releaseInstallation, restoreBackup, schemasOf, withKeyOf } from '../backup/restore-backup.js';
import { command, CommandError, filledText, flag, requiredText, UsageError } from '../cli/command.js';
import { printResult } from '../cli/output.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { recordCommand } from '../process/audit-command.js';
import { openDatabase, openServer, usable } from '../process/database.js';
import { connectLauncher } from '../process/launcher.js';
import { logErrorsOnly } from '../process/logging.js';
import { openPlugins, pluginMigrations } from '../process/plugins.js';
import { withInstallationKeys } from '../process/prepare-settings.js';
import { withServices } from '../process/services.js';

export const backup = command({
  options: {
    to: requiredText('directory', 'Directory that is created and becomes the backup.'),
    'include-key': flag('Include SECRETS_KEY. Everybody who can read the backup can then decrypt all secrets.'),
    ...OUTPUT_OPTIONS,
  },
  run: async ({ to, 'include-key': includesKey, ...values }) => {
    const { settings, migrations } = await prepare();
    const keyed = withInstallationKeys(settings, settings.dataDir, { generates: false });
    if (keyed.secretsKey === undefined)
      throw new CommandError('SECRETS_KEY is required: the key with which the installation runs.');
    if (settings.databaseUrl === undefined && !existsSync(join(settings.dataDir, 'secrets')))
      throw new CommandError(`no installation found in ${settings.dataDir}. Start one, or set HEADRACE_DATA_DIR.`);
    const database = await openDatabase(keyed, { migrate: false, migrations });
    try {
      const options = { directory: to, includesKey, schemas: schemasOf(migrations) };
      const created = await usable('the database', async () => {
        const result = await createBackup(database.settings, options);
        await record(database.settings, 'installation.backed_up', { includes_key: includesKey });
        return result;
      });
      const { tables, rows, objects } = created;
      const sentences = [
        `The backup ${resolve(to)} has ${rows} rows of ${tables} tables and ${objects.count} objects with ${objects.bytes} bytes.`,
      ];
      if (objects.count === 0 && database.settings.objectStoreUrl === undefined)
        sentences.push(
          `HEADRACE_DATA_DIR (${settings.dataDir}) has no objects: it must be the data directory of the processes.`,
        );
      if (!includesKey) sentences.push('It does not contain SECRETS_KEY.');
      printResult(values, { directory: resolve(to), ...created }, sentences.join(' '));
    } finally {
      await database.close();
    }
  },
});

export const restore = command({
  options: {
    from: filledText('directory', 'The backup. The database and HEADRACE_DATA_DIR must be empty.'),
    resume: flag('Release the installation: runs start, schedules fire and deliveries are evaluated again.'),
    ...OUTPUT_OPTIONS,
  },
  run: async ({ from, resume, ...values }) => {
    if (from === undefined && !resume) throw new UsageError('--from or --resume is missing');
    const { settings, migrations } = await prepare();
    const directory = from === undefined ? null : resolve(from);
    const manifest = directory === null ? null : await readManifest(directory);
    const keyed =
      directory === null || manifest === null
        ? withInstallationKeys(settings, settings.dataDir, { generates: false })
        : await withKeyOf(settings, manifest, directory);
    // The key of the backup, which the data directory does not have.
    const storesKey = settings.secretsKey === undefined && manifest?.has_key === true;
    const database = await openServer(keyed);
    const { databaseUrl = '' } = database.settings;
    try {
      if (directory !== null && manifest !== null) {
        await usable('the database', () =>
          restoreBackup(database.settings, manifest, { directory, migrations, storesKey }),
        );
        await record(database.settings, 'installation.restored', {
          created_at: manifest.created_at,
          version: manifest.version,
        });
      }
      const isReleased = resume && (await usable('the database', () => releaseInstallation(databaseUrl)));
      if (directory === null && !isReleased)
        throw new CommandError('The installation is not held, or its restore has not ended.');
      const held = isReleased ? '' : ' It is held: start it, look at it, and then run `headrace restore --resume`.';
      const restored =
        manifest === null ? 'The installation continues.' : `The backup of ${manifest.created_at} is restored.`;
      printResult(values, { restored: manifest?.created_at ?? null, held: !isReleased }, `${restored}${held}`);
    } finally {
      await database.close();
    }
  },
});

/** In the audit log of the installation. */
const record = (settings: Settings, action: string, details: AuditEvent['details']): Promise<void> =>
  withServices(
    settings,
    (services) => recordCommand(services, null, { action, target: { type: 'installation' }, details }),
    [AuditModule],
  );

async function prepare() {
  logErrorsOnly();
  const { environment } = await connectLauncher();
  const settings = parseSettings(environment);
  const migrations = pluginMigrations(await openPlugins(settings));
  return { settings: withSettings(settings, { dataDir: ensureDataDir(settings.dataDir) }), migrations };
}
