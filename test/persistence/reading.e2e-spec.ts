import { type INestApplicationContext, Logger } from '@nestjs/common';
import { parseSettings } from '#platform/config';
import { Database } from '#platform/persistence';
import { createDatabaseProxy, createTestDatabase, type DatabaseProxy, type TestDatabase } from '#testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startParts } from '../support/parts.js';

let own: TestDatabase;
let proxy: DatabaseProxy;
let app: INestApplicationContext;
let database: Database;

beforeAll(async () => {
  own = await createTestDatabase();
  proxy = await createDatabaseProxy(own.url);
  app = await startParts(parseSettings({ DATABASE_URL: proxy.url, DATABASE_POOL_SIZE: '2' }), []);
  database = app.get(Database);
});

afterAll(async () => {
  await app.close();
  await proxy.close();
  await own.close();
});

const sorting = `SELECT current_setting('enable_sort') AS sorts, current_setting('transaction_read_only') AS reads`;

describe('read-only transaction', () => {
  it('begins a read-only transaction in the round trip of its first statement', async () => {
    await database.query('SELECT 1');
    proxy.answerOnlyAfter('current_setting');
    const rows = await database.reading({ enable_sort: 'off' }, (tx) => tx.query(sorting));
    expect(rows).toEqual([{ sorts: 'off', reads: 'on' }]);
  });

  it('resets the settings of a read-only transaction at its end', async () => {
    await database.reading({ enable_sort: 'off' }, (tx) => tx.query(sorting));
    expect(await database.query(sorting)).toEqual([{ sorts: 'on', reads: 'off' }]);
  });

  it('rejects with the error of a failed statement and keeps the connection usable', async () => {
    const failing = database.reading({ enable_sort: 'off' }, (tx) => tx.query('SELECT 1 / 0'));
    await expect(failing).rejects.toThrow(/division by zero/);
    await expect(database.reading({ no_such_setting: 'off' }, (tx) => tx.query(sorting))).rejects.toThrow(
      /no_such_setting/,
    );
    await expect(database.reading({}, (tx) => tx.query(`CREATE TABLE headrace.written (id int)`))).rejects.toThrow(
      /read-only/,
    );
    expect(await database.query(sorting)).toEqual([{ sorts: 'on', reads: 'off' }]);
  });
});

describe('transaction', () => {
  it('begins in the round trip of its first statement', async () => {
    await database.query('SELECT 1');
    proxy.answerOnlyAfter('current_setting');
    expect(await database.transaction((tx) => tx.query(sorting))).toEqual([{ sorts: 'on', reads: 'off' }]);
  });

  it('rejects with the error of the statement that failed, and not of those behind it', async () => {
    for (let round = 0; round < 50; round += 1) {
      const failing = database.transaction(async (tx) => {
        const first = async () => (await Promise.all([tx.query('SELECT 1 / 0'), tx.query('SELECT 2')]))[0];
        await Promise.all([first(), tx.query('SELECT 3'), tx.query('SELECT 4')]);
      });
      await expect(failing).rejects.toMatchObject({ code: '22012' });
    }
  });

  it('calls what waits for its commit before its caller continues, and never after a rollback', async () => {
    const calls: string[] = [];
    await database.transaction(async (tx) => {
      tx.afterCommit(() => calls.push('called'));
      await tx.query('SELECT 1');
      calls.push('worked');
    });
    expect(calls).toEqual(['worked', 'called']);
    const failing = database.transaction(async (tx) => {
      tx.afterCommit(() => calls.push('called after a rollback'));
      await tx.query('SELECT 1 / 0');
    });
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    expect(calls).toEqual(['worked', 'called']);
  });

  it('is committed, and calls all that wait for its commit, also if one of them fails', async () => {
    const logged = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const calls: string[] = [];
    const result = database.transaction(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('The first call failed.');
      });
      tx.afterCommit(() => calls.push('called'));
      await tx.query('SELECT 1');
      return 'committed';
    });
    expect(await result).toBe('committed');
    expect(calls).toEqual(['called']);
    expect(logged).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'The first call failed.' }));
    logged.mockRestore();
  });

  it('accepts no statement after its end', async () => {
    let late: Promise<unknown> | undefined;
    const failing = database.transaction(async (tx) => {
      late = tx.query('SELECT 1').then(async () => {
        await failing.catch(() => undefined);
        return tx.query('CREATE TABLE headrace.late (id int)');
      });
      late.catch(() => undefined);
      await tx.query('SELECT 1 / 0');
    });
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    await expect(late).rejects.toThrow('The transaction has ended.');
    expect(await database.query(`SELECT to_regclass('headrace.late') AS late`)).toEqual([{ late: null }]);
  });
});
