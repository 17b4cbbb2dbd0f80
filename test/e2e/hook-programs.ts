/**
 * Does what the programs in the hook Jobs of the chart `test/fixtures/helm/operator` would do at each cluster: the pods of the tests are simulated. A process of
 * its own, because a test blocks while helm runs. Arguments: the namespace, the file of a certificate authority, and each cluster as `KUBECONFIG#CONTEXT`.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { NodeApiClient } from '../../center/cli/api-client.ts';

const pollMs = 100;
const [namespace = '', authorityFile = '', ...clusters] = process.argv.slice(2);
const caBundle = readFileSync(authorityFile).toString('base64');
const admission = '/apis/admissionregistration.k8s.io/v1';

interface WebhookConfiguration {
  webhooks?: { clientConfig: { caBundle?: string } }[];
}

class Programs {
  readonly #api: NodeApiClient;
  readonly #context: string;
  /** A Job starts its pod again until the program succeeds, so the program goes on although the simulated Job is complete. */
  readonly #started = new Set<string>();

  constructor(cluster: string) {
    const [file = '', context = ''] = cluster.split('#');
    this.#api = new NodeApiClient(file);
    this.#context = context;
  }

  async run(): Promise<void> {
    for (;;) {
      // A cluster that does not answer is asked again.
      await this.#step().catch(() => undefined);
      await delay(pollMs);
    }
  }

  async #step(): Promise<void> {
    const jobs = await this.#api.list(this.#context, `/apis/batch/v1/namespaces/${namespace}/jobs`);
    for (const { metadata } of jobs) this.#started.add(metadata.name ?? '');
    if (this.#started.has('create-certificate') && (await this.#createCertificate()))
      this.#started.delete('create-certificate');
    if (this.#started.has('patch-webhooks') && (await this.#patchWebhooks())) this.#started.delete('patch-webhooks');
  }

  /** As in real charts, a certificate that is there stays. */
  async #createCertificate(): Promise<boolean> {
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    if (await this.#api.get(this.#context, `${path}/certificate`)) return true;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'certificate' }, data: { ca: caBundle } };
    return 'object' in (await this.#api.write(this.#context, 'POST', path, secret));
  }

  async #patchWebhooks(): Promise<boolean> {
    const answers = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'].map(async (resource) => {
      const path = `${admission}/${resource}/${namespace}-operator`;
      const found = (await this.#api.get(this.#context, path)) as (WebhookConfiguration & object) | undefined;
      if (!found) return false;
      for (const webhook of found.webhooks ?? []) webhook.clientConfig.caBundle = caBundle;
      return 'object' in (await this.#api.write(this.#context, 'PUT', path, found));
    });
    return (await Promise.all(answers)).every((isDone) => isDone);
  }
}

await Promise.all(clusters.map((cluster) => new Programs(cluster).run()));
