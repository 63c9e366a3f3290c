import { type Settings, SettingsError } from '#platform/config';
import { ObjectStoreUnavailableError } from '../object-store.js';
import { statusOf } from './s3-error.js';
import { S3ObjectStore } from './s3-object-store.js';

type S3Settings = Pick<
  Settings,
  'objectStoreUrl' | 's3Endpoint' | 's3Region' | 's3ForcePathStyle' | 's3AccessKeyId' | 's3SecretAccessKey'
>;

/** The store that the settings name, or null when objects stay on disk. Rejects when the bucket cannot be used. */
export async function openConfiguredS3(settings: S3Settings): Promise<S3ObjectStore | null> {
  const { objectStoreUrl, s3Endpoint, s3Region, s3ForcePathStyle, s3AccessKeyId, s3SecretAccessKey } = settings;
  if (objectStoreUrl === undefined) return null;
  const store = await S3ObjectStore.open({
    ...objectStoreUrl,
    forcePathStyle: s3ForcePathStyle,
    ...(s3Endpoint === undefined ? {} : { endpoint: s3Endpoint }),
    ...(s3Region === '' ? {} : { region: s3Region }),
    ...(s3AccessKeyId === undefined || s3SecretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey } }),
  });
  try {
    await store.check();
    return store;
  } catch (error) {
    store.close();
    const at = s3Endpoint === undefined ? '' : ` at ${s3Endpoint}`;
    throw new SettingsError([
      `OBJECT_STORE_URL names the bucket ${objectStoreUrl.bucket}${at}, which cannot be used: ${reasonOf(causeOf(error))}.`,
    ]);
  }
}

const causeOf = (error: unknown): unknown => (error instanceof ObjectStoreUnavailableError ? error.cause : error);

/** For operators: S3 answers a check without a body, so only the status is known. */
function reasonOf(error: unknown): string {
  switch (statusOf(error)) {
    case 301:
    case 400:
      return 'it lies in another region, or the region is wrong; see S3_REGION';
    case 401:
    case 403:
      return 'the credentials are wrong, or lack s3:ListBucket';
    case 404:
      return 'there is no such bucket';
    default: {
      const { name, message, code } = error as Error & { code?: string };
      if (name === 'CredentialsProviderError') return 'the AWS SDK finds no credentials; see S3_ACCESS_KEY_ID';
      if (message === 'Region is missing') return 'its region is not known; see S3_REGION';
      return code === undefined ? `${name}: ${message}` : `it does not answer (${code})`;
    }
  }
}
