import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { readMigrations } from '#platform/persistence';
import { createEmptyDatabase } from '#testing';
import { withClient } from '../../apps/headrace/src/backup/create-backup.js';
import { fingerprintOf, readManifest, writeManifest } from '../../apps/headrace/src/backup/backup-manifest.js';
import { releaseInstallation, restoreBackup } from '../../apps/headrace/src/backup/restore-backup.js';
import { dumpTables } from '../../apps/headrace/src/backup/tables.js';
import { checkMigrated, migrateAll, migrateTo, migrationSources } from '../../apps/headrace/src/process/migrations.js';
import { readCatalog } from './catalog.js';

const read = (file: string): string => readFileSync(new URL(`version-0.1.0/${file}`, import.meta.url), 'utf8');
const SECRETS_KEY = 'a-key-for-tests-only-0123456789abcdef';

it(
  'a backup of an earlier version, with a plugin, is restored and gets the migrations since',
  { timeout: 60_000 },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'headrace-backup-'));
    const [source, target, created] = await Promise.all([
      createEmptyDatabase(),
      createEmptyDatabase(),
      createEmptyDatabase(),
    ]);
    try {
      await mkdir(join(directory, 'plugin/migrations'), { recursive: true });
      writeFileSync(
        join(directory, 'plugin/migrations/2026-11-01-create-notes.sql'),
        `CREATE TABLE plugin_notes.notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);`,
      );
      const migrations = [{ name: 'notes', directory: join(directory, 'plugin'), ownSchema: 'plugin_notes' }];
      const schemas = ['headrace', 'plugin_notes'];
      // 1. A database with data and without the newest migrations.
      await source.query('CREATE SCHEMA headrace');
      await source.query(read('schema.sql'));
      await source.query(read('data.sql'));
      const files = readMigrations([...migrationSources(), ...migrations]).filter(({ isRepeatable }) => !isRepeatable);
      const before = files.filter(({ name }) => !name.includes('/2026-11-29-'));
      expect(before.length).toBeLessThan(files.length);
      await migrateTo(source.url, before, migrations);
      await source.query(`INSERT INTO plugin_notes.notes (text) VALUES ('first')`);
      await expect(checkMigrated(source.url, migrations)).rejects.toThrow('is behind');
      // 2. Its backup.
      const backup = join(directory, 'backup');
      await mkdir(join(backup, 'tables'), { recursive: true });
      const dump = await withClient(source.url, (client) => dumpTables(client, schemas, backup));
      writeFileSync(join(backup, 'objects.txt'), '');
      await writeManifest(backup, {
        version: '0.1.0',
        ...dump,
        objects: { count: 0, bytes: 0, sha256: createHash('sha256').digest('hex') },
        key_fingerprint: fingerprintOf(SECRETS_KEY),
        has_key: false,
      });
      // 3. Restored into a database that already has the schema of this version, without data.
      await migrateAll({ databaseUrl: target.url }, migrations);
      const settings = parseSettings({
        SECRETS_KEY,
        DATABASE_URL: target.url,
        HEADRACE_DATA_DIR: join(directory, 'data'),
      });
      await restoreBackup(settings, await readManifest(backup), { directory: backup, migrations, storesKey: false });
      await checkMigrated(target.url, migrations);
      await migrateAll({ databaseUrl: created.url }, migrations);
      const expected = await readCatalog(created);
      const found = Object.entries(await readCatalog(target));
      expect(
        Object.fromEntries(found.filter(([name]) => name in expected || !/run_events_\d{4}_\d\d/.test(name))),
      ).toEqual(expected);
      for (const { name, rows } of dump.tables)
        expect([name, await target.query(`SELECT count(*)::int AS rows FROM ${name}`)]).toEqual([name, [{ rows }]]);
      expect(dump.tables.find(({ name }) => name === 'headrace.runs')?.rows).toBeGreaterThan(0);
      // Ids continue after those of the backup.
      expect(await target.query(`INSERT INTO plugin_notes.notes (text) VALUES ('second') RETURNING id::int`)).toEqual([
        { id: 2 },
      ]);
      expect([await releaseInstallation(target.url), await releaseInstallation(target.url)]).toEqual([true, false]);
    } finally {
      await Promise.all([source.close(), target.close(), created.close()]);
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
