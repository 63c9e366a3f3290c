// Records the part of GitHub's OpenAPI description that the double of the tests checks, from the newest package
// @octokit/openapi: `node scripts/record-github-schema.mjs`. Descriptions are left out, and examples of other operations.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inRoot } from './lib/paths.mjs';

const FILE = inRoot('test/support/github-schema.json');
const OPERATIONS = {
  '/app/installations/{installation_id}/access_tokens': ['post'],
  '/repos/{owner}/{repo}': ['get'],
  '/repos/{owner}/{repo}/actions/jobs/{job_id}/logs': ['get'],
  '/repos/{owner}/{repo}/actions/runs/{run_id}': ['get'],
  '/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts': ['get'],
  '/repos/{owner}/{repo}/actions/runs/{run_id}/jobs': ['get'],
  '/repos/{owner}/{repo}/actions/workflows/{workflow_id}': ['get'],
  '/repos/{owner}/{repo}/check-runs': ['post'],
  '/repos/{owner}/{repo}/check-runs/{check_run_id}': ['patch'],
  '/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations': ['get'],
  '/repos/{owner}/{repo}/commits/{ref}/check-runs': ['get'],
  '/repos/{owner}/{repo}/installation': ['get'],
  '/repos/{owner}/{repo}/issues/comments/{comment_id}': ['patch'],
  '/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions': ['post'],
  '/repos/{owner}/{repo}/issues/{issue_number}/comments': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/{issue_number}/reactions': ['post'],
  '/repos/{owner}/{repo}/pulls': ['get', 'post'],
  '/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions': ['post'],
  '/repos/{owner}/{repo}/pulls/{pull_number}': ['get'],
  '/repos/{owner}/{repo}/statuses/{sha}': ['post'],
};
const PROSE = new Set(['description', 'externalDocs', 'summary', 'tags', 'x-github', 'headers']);

const directory = mkdtempSync(join(tmpdir(), 'headrace-github-schema-'));
try {
  const [{ filename, version }] = JSON.parse(
    execFileSync('npm', ['pack', '@octokit/openapi', '--json', '--silent'], { cwd: directory, encoding: 'utf8' }),
  );
  execFileSync('tar', ['xzf', filename, 'package/generated/api.github.com.json'], { cwd: directory });
  const description = JSON.parse(readFileSync(join(directory, 'package/generated/api.github.com.json'), 'utf8'));
  record(description, version);
} finally {
  rmSync(directory, { recursive: true });
}

function record({ paths, components }, version) {
  const kept = { paths: {}, components: {} };
  for (const [path, methods] of Object.entries(OPERATIONS))
    kept.paths[path] = Object.fromEntries(methods.map((method) => [method, withoutProse(paths[path][method])]));
  const queue = [kept.paths];
  while (queue.length > 0) {
    for (const [, kind, name] of JSON.stringify(queue.pop()).matchAll(/#\/components\/([\w-]+)\/([^"]+)/g)) {
      kept.components[kind] ??= {};
      if (name in kept.components[kind]) continue;
      kept.components[kind][name] = kind === 'examples' ? components[kind][name] : withoutProse(components[kind][name]);
      queue.push(kept.components[kind][name]);
    }
  }
  writeFileSync(FILE, `${JSON.stringify({ version, ...kept })}\n`);
  console.log(`Wrote ${Object.keys(kept.components.schemas).length} schemas of @octokit/openapi ${version}.`);
}

/** `properties` has names that other fields have, too. */
function withoutProse(value, parent = '') {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key]) =>
          parent === 'properties' ||
          !(PROSE.has(key) || ((key === 'example' || key === 'examples') && 'type' in value)),
      )
      .map(([key, item]) => [key, withoutProse(item, key)]),
  );
}
