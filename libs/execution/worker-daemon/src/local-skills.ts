import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { fields } from '#execution/runner';
import { parse } from 'yaml';
import type { HostLog } from '#execution/backends';
import type { WorkerSkill } from '#execution/worker-protocol';
import { findFrontMatter } from '#platform/kernel';

const PLACES = [
  '.agents',
  '.warp',
  '.claude',
  '.codex',
  '.cursor',
  '.gemini',
  '.copilot',
  '.factory',
  '.github',
  '.opencode',
];
const MAX_FILE_BYTES = 262_144;
const MAX_SKILLS = 200;
const MAX_NAME = 256;
const MAX_DESCRIPTION = 1_024;

/** `<place>/skills/<name>/SKILL.md`, of equal names the first. What cannot be read is left out with a warning. */
export function localSkills(repositories: readonly string[], log: HostLog): WorkerSkill[] {
  const found = new Map<string, WorkerSkill>();
  for (const repository of repositories) {
    const name = repositoryName(repository);
    for (const place of PLACES) {
      for (const directory of subdirectories(join(repository, place, 'skills'))) {
        const skill = readSkill(directory, log);
        const path = relative(repository, join(directory, 'SKILL.md'));
        if (skill !== null && !found.has(skill.name) && found.size < MAX_SKILLS)
          found.set(skill.name, { ...skill, repository: name, path });
      }
    }
  }
  return [...found.values()];
}

/** Without the user and password that the URL of `origin` may have. */
function repositoryName(repository: string): string {
  const segments = (originOf(repository) ?? resolve(repository))
    .replace(/^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?/i, '')
    .replace(/\/+$/, '')
    .replace(/\/?\.git$/, '')
    .split(/[/:]/)
    .filter((segment) => segment !== '');
  return segments.slice(-2).join('/').slice(-MAX_NAME);
}

/** Null where it is no repository, or has no such remote. */
function originOf(repository: string): string | null {
  try {
    const config = readFileSync(join(repository, '.git', 'config'), 'utf8');
    return /^\[remote "origin"\][^[]*?^\s*url\s*=\s*(\S+)/m.exec(config)?.[1] ?? null;
  } catch {
    return null; // a directory that git does not manage, or that is a work tree of another one
  }
}

function subdirectories(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(directory, name))
      .sort();
  } catch {
    return []; // most repositories have none of most places
  }
}

function readSkill(directory: string, log: HostLog): WorkerSkill | null {
  const file = join(directory, 'SKILL.md');
  try {
    const stats = lstatSync(file);
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return null;
    const text = readFileSync(file, 'utf8');
    const found = findFrontMatter(text);
    const { name, description } = fields(found.kind === 'found' ? parse(text.slice(found.start, found.end)) : null);
    return { name: textOf(name, basename(directory), MAX_NAME), description: textOf(description, '', MAX_DESCRIPTION) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.warn('a skill cannot be read', { file, error: error instanceof Error ? error.name : 'unknown' });
    return null;
  }
}

const textOf = (value: unknown, fallback: string, max: number): string =>
  (typeof value === 'string' && value.trim() !== '' ? value.trim() : fallback).slice(0, max);
