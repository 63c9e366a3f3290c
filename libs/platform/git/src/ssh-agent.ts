import { createServer, type Socket } from 'node:net';
import { sshString, type SshKey } from './ssh-key.js';

const FAILURE = 5;
const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
/** As OpenSSH limits them. */
const MAX_MESSAGE_BYTES = 262_144;

/**
 * Serves one key by the SSH agent protocol (draft-ietf-sshm-ssh-agent) at a socket, so that ssh can use the key and cannot read it. All
 * requests but those for identities and signatures fail. Returns what ends it.
 */
export async function startSshAgent(socket: string, key: SshKey): Promise<() => void> {
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => connection.destroy());
    serve(connection, key);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  return () => {
    server.close();
    for (const connection of connections) connection.destroy();
  };
}

function serve(connection: Socket, key: SshKey): void {
  let rest: Buffer = Buffer.alloc(0);
  // Answers have the order of the requests.
  let answered = Promise.resolve();
  connection.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const length = rest.readUInt32BE(0);
      if (length === 0 || length > MAX_MESSAGE_BYTES) return void connection.destroy();
      if (rest.length < 4 + length) return;
      const message = rest.subarray(4, 4 + length);
      answered = answered.then(async () => void connection.write(sshString(await answerTo(message, key))));
      rest = rest.subarray(4 + length);
    }
  });
  connection.on('end', () => void answered.then(() => connection.end()));
}

async function answerTo(message: Buffer, key: SshKey): Promise<Buffer> {
  switch (message[0]) {
    case REQUEST_IDENTITIES: {
      const one = Buffer.from([IDENTITIES_ANSWER, 0, 0, 0, 1]);
      return Buffer.concat([one, sshString(key.publicKey), sshString(Buffer.alloc(0))]);
    }
    case SIGN_REQUEST: {
      // A key that OpenSSL cannot use is like one that the agent does not have.
      const signature = await sign(message, key).catch(() => null);
      return signature ? Buffer.concat([Buffer.from([SIGN_RESPONSE]), sshString(signature)]) : Buffer.from([FAILURE]);
    }
    default:
      return Buffer.from([FAILURE]);
  }
}

/** The message has the public key, the data and the flags. */
async function sign(message: Buffer, key: SshKey): Promise<Buffer | null> {
  const publicKey = stringAt(message, 1);
  const data = publicKey && stringAt(message, 5 + publicKey.length);
  if (!publicKey || !data) return null;
  const flags = 9 + publicKey.length + data.length;
  if (message.length !== flags + 4 || !publicKey.equals(key.publicKey)) return null;
  return key.sign(data, message.readUInt32BE(flags));
}

function stringAt(message: Buffer, start: number): Buffer | null {
  if (message.length < start + 4) return null;
  const end = start + 4 + message.readUInt32BE(start);
  return end > message.length ? null : message.subarray(start + 4, end);
}
