import type { Caller } from '#libs/auth';
import type { Factory } from '#libs/factories';
import { ProblemError } from '#libs/http';
import type { DefinitionAccess } from '../application/definition-access.js';
import type { DefinitionFile, Diagnostic } from '../domain/definition.js';
import { unknownFactory } from './factory-refusals.js';

/** The factory, for those who manage it; throws for everybody else. */
export async function managedFactory(access: DefinitionAccess, caller: Caller, uid: string): Promise<Factory> {
  const lookup = await access.factory(caller, uid);
  switch (lookup.kind) {
    case 'found':
      return lookup.factory;
    case 'unknown':
      throw unknownFactory();
    case 'forbidden':
      throw new ProblemError('not_authorized', 'Your role on the factory’s team does not allow to manage the factory.');
  }
}

const MAX_SENTENCES = 5;

/** Nothing was applied. Every diagnostic is there twice: as an error of the request, and as it is. */
export function invalidDefinition(files: readonly DefinitionFile[], diagnostics: readonly Diagnostic[]): ProblemError {
  const places = new Map(files.map(({ path }, index) => [path, `/files/${index}/content`]));
  const errors = diagnostics.map((diagnostic) => ({
    pointer: places.get(diagnostic.path) ?? '/files',
    detail: located(diagnostic),
  }));
  const told = errors.slice(0, MAX_SENTENCES).map(({ detail }) => detail);
  const more = errors.length - told.length;
  return new ProblemError(
    'invalid_request',
    [`Nothing was applied. ${told.join(' ')}`, ...(more > 0 ? [`${more} more.`] : [])].join(' '),
    { errors, members: { diagnostics } },
  );
}

const located = ({ path, line, column, message }: Diagnostic): string =>
  `${path === '' ? '' : `${path}:${line}:${column}: `}${message}`;
