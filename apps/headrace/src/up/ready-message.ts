import { shellWord } from '#platform/kernel';
import type { Connection } from './connection-file.js';

const PROMPT = '```sh\necho "hello from the agent" > hello.txt\ncat hello.txt\n```';

/** `loginLink`: null: the first user is disabled. */
export function readyMessage(connection: Connection, connectionFile: string, loginLink: string | null): string {
  return [
    '',
    'Headrace is ready.',
    `  API      ${connection.base_url}`,
    `  Docs     ${connection.docs_url}`,
    `  Ingress  ${connection.ingress_base_url}`,
    `  Tokens   ${connectionFile}`,
    '',
    ...(loginLink === null
      ? []
      : ['Open the console with this link, which can be used once within 15 minutes:', '', `  ${loginLink}`, '']),
    'Or create a run:',
    '',
    createRunCommand(connection, connectionFile),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

/** Reads the token from the file, so that no shell history and no log contains it. */
function createRunCommand({ base_url }: Connection, connectionFile: string): string {
  const token = `$(sed -n 's/^  "token": "\\(.*\\)",$/\\1/p' ${shellWord(connectionFile)})`;
  const body = JSON.stringify({ prompt: PROMPT });
  return `curl -sS ${base_url}/agent/runs -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' -d ${shellWord(body)}`;
}
