/** Kubeconfigs when the authority of nodes changes. */
import type { X509Certificate } from 'node:crypto';
import { stringify } from 'yaml';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { kubeconfigYaml } from '../../core/kubeconfig/kubeconfig.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';

interface TrustingKubeconfig {
  readonly clusters?: readonly { readonly cluster: { readonly 'certificate-authority-data'?: string } }[];
}

/**
 * Replaces the authorities by which the clients of a kubeconfig verify the nodes. `known`: the authorities of the tree until now; clusters with others are not of this
 * tree, and stay as they are. The file was read as a kubeconfig before.
 */
export function trustInKubeconfig(file: string, caPem: string, known: readonly X509Certificate[]): void {
  const config = kubeconfigYaml(file) as TrustingKubeconfig;
  const isOfTree = (data: string) => {
    const authorities = certificatesIn(Buffer.from(data, 'base64'));
    return authorities.some((one) => known.some(({ fingerprint256 }) => fingerprint256 === one.fingerprint256));
  };
  const clusters = (config.clusters ?? []).map((one) =>
    isOfTree(one.cluster['certificate-authority-data'] ?? '')
      ? { ...one, cluster: { ...one.cluster, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } }
      : one,
  );
  writeWhole(file, stringify({ ...config, clusters }, { aliasDuplicateObjects: false }));
}
