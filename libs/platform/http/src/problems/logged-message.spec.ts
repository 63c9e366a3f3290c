import { expect, it } from 'vitest';
import { loggedMessage } from './problem-writer.js';

const databaseError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

it('leaves out the value that PostgreSQL could not read', () => {
  const error = databaseError('22P02', `invalid input syntax for type uuid: "${'secret "quoted"\n'.repeat(9)}"`);
  expect(loggedMessage(error)).toBe('invalid input syntax for type uuid: …');
});

it('cuts messages of database errors to 200 characters, and no others', () => {
  const long = 'relation '.repeat(100);
  expect(loggedMessage(databaseError('42P01', long))).toHaveLength(200);
  expect(loggedMessage(new Error(long))).toBe(long);
});
