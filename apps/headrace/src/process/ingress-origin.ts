import type { Settings } from '#platform/config';
import { ConnectionFile } from '../up/connection-file.js';

/** Where senders reach the ingress: of a running `up`, which may have chosen a port, what it says; else the setting. */
export function ingressOrigin({ dataDir, ingressPublicUrl }: Settings): string {
  const { ingress_base_url: running } = new ConnectionFile(dataDir).read();
  return running ?? ingressPublicUrl;
}
