/** Kinds of the frames that the client gets: a byte, the length of the content in four bytes, and the content. */
export const SSH_FRAMES = { accepted: 0, output: 1, errors: 2, exit: 3, declined: 4 } as const;

const { accepted, output, errors, exit, declined } = SSH_FRAMES;
const NOT_INSTALLED = 'git needs the OpenSSH client (ssh) for this repository. It is not installed on this machine.';

/**
 * The program that git in the workspace executes instead of ssh. It hands its arguments to the runner, and its streams if the runner
 * accepts. Otherwise it executes ssh itself. The socket is beside it: paths of sockets have at most 107 bytes.
 */
export const sshClient = (socket: string): string => `'use strict';
const { spawn } = require('node:child_process');
const { connect } = require('node:net');

const args = process.argv.slice(2);
const directory = process.cwd();
const fail = (message) => {
  process.stderr.write(message + '\\n');
  process.exit(255);
};

function executeSsh() {
  process.chdir(directory);
  const ssh = spawn('ssh', args, { stdio: 'inherit' });
  ssh.on('error', (error) => fail(error.code === 'ENOENT' ? '${NOT_INSTALLED}' : error.message));
  ssh.on('close', (code) => process.exit(code === null ? 255 : code));
}

function print(stream, content) {
  // One listener, also for many frames that have arrived together.
  if (stream.write(content) || stream.listenerCount('drain') > 0) return;
  connection.pause();
  stream.once('drain', () => connection.resume());
}

/** When git has got everything that was printed before. */
function end(code) {
  connection.removeAllListeners('close');
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}

process.chdir(__dirname);
const connection = connect({ path: '${socket}', allowHalfOpen: true });
connection.on('error', (error) => fail('The runner of this execution cannot be reached: ' + error.message));
connection.on('close', () => fail('The runner has ended the connection.'));
connection.write(JSON.stringify({ args, protocol: process.env.GIT_PROTOCOL || '' }) + '\\n');

// git has ended.
process.stdout.on('error', () => process.exit(255));
process.stderr.on('error', () => process.exit(255));

let rest = Buffer.alloc(0);
connection.on('data', (chunk) => {
  rest = Buffer.concat([rest, chunk]);
  while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
    const content = rest.subarray(5, 5 + rest.readUInt32BE(1));
    const kind = rest[0];
    rest = rest.subarray(5 + content.length);
    if (kind === ${output}) print(process.stdout, content);
    else if (kind === ${errors}) print(process.stderr, content);
    else if (kind === ${exit}) end(content[0]);
    else if (kind === ${accepted}) process.stdin.pipe(connection);
    else if (kind === ${declined}) {
      connection.removeAllListeners();
      connection.on('error', () => undefined);
      connection.destroy();
      return executeSsh();
    }
  }
});
`;
