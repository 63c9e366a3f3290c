// An object store in its own process, over a directory that stays when the process is killed.
import { startS3rver } from '../../libs/testing/src/s3/s3rver.js';

const { BUCKET = '', DIRECTORY = '', PORT = '0' } = process.env;
await startS3rver(BUCKET, { directory: DIRECTORY, port: Number(PORT) });
process.stdout.write('The object store is ready.\n');
