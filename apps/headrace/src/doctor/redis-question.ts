import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const PATIENCE_MS = 4_000;
const MAX_ANSWER_BYTES = 1_048_576;

/**
 * What Redis says about itself (`INFO server` and `INFO memory`), asked without the client package, which is optional.
 * Rejects when it is no Redis, refuses the password or does not answer.
 */
export function askRedis(text: string): Promise<string> {
  const url = new URL(text);
  const place = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 6379) };
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const auth = password === '' ? [] : [user === '' ? ['AUTH', password] : ['AUTH', user, password]];
  const commands = [...auth, ['PING'], ['INFO', 'server'], ['INFO', 'memory'], ['QUIT']];
  return new Promise((resolve, reject) => {
    const socket: Socket =
      url.protocol === 'rediss:' ? connectTls({ ...place, servername: place.host }) : connectTcp(place);
    let answer = '';
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
    socket.setEncoding('utf8');
    socket.once('close', () => clearTimeout(timer));
    socket.once('error', reject);
    socket.on('data', (chunk: string) => {
      answer += chunk;
      if (answer.length > MAX_ANSWER_BYTES) socket.destroy(new Error('the answer is too long'));
    });
    socket.once('end', () => {
      socket.destroy();
      const refusal = /^-([^\r\n]*)/m.exec(answer)?.[1];
      if (refusal !== undefined) reject(new Error(refusal));
      else if (!answer.includes('+PONG')) reject(new Error('no PONG to a PING'));
      else resolve(answer.replaceAll('\r\n', '\n'));
    });
    socket.write(commands.map(command).join(''));
  });
}

/** In the protocol of Redis: an array of bulk strings. */
const command = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
