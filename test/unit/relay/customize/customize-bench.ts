/** A scheduler with the customization stage, connected as in the node. */
import type { CustomizerSpec } from '../../../../core/customize/customizer.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { Customization } from '../../../../relay/customize/customization.ts';
import { factsOf } from '../support/facts.ts';
import { idOf, mapKey, ScheduleBench, source } from '../support/schedule-bench.ts';

export class CustomizeBench extends ScheduleBench {
  customization!: Customization;
  evaluations = 0;
  hits = 0;

  constructor() {
    super();
    this.start();
  }

  /** A start of the process. */
  start(): void {
    this.stages = [];
    this.restart();
    this.customization = new Customization({
      tableOf: (name) => (name === source ? this.table : undefined),
      children: this.children,
      placements: this.placements,
      mailboxOf: (child) => this.mailboxOf(child),
      pathOf: (child) => `eu:${child}`,
      counted: (evaluated) => {
        if (evaluated) this.evaluations += 1;
        else this.hits += 1;
      },
    });
    this.stages.push(this.customization);
    this.childRefreshed = (t, name, stays) => this.customization.childChanged(t, name, stays);
    this.auxiliaryChanged = (t, from, key) => this.customization.auxiliaryChanged(t, from, key);
    this.store.read((reader) => this.customization.load(reader));
  }

  shop(name: string, storeName: string, labels: Record<string, string> = {}): void {
    const all = { site: 'shop', ...labels };
    const destination = {
      location: name,
      syncTargetUid: name,
      labels: all,
      facts: factsOf(name, all, { 'store-name': storeName }),
      evaluate: () => false,
    };
    this.child({ name, role: 'agent', destinations: [destination] });
  }

  writeConfigMap(
    text: string,
    attributes: object = { customizers: ['shop/greet'], generation: 1 },
    name = 'greeting',
    refs = ['p'],
  ): void {
    const metadata = { name, namespace: 'shop' };
    this.object(
      name,
      refs,
      JSON.stringify({ metadata, apiVersion: 'v1', data: { text }, kind: 'ConfigMap' }),
      attributes,
    );
  }

  writeCustomizer(value: string, name = 'greet'): void {
    this.spec({ replacements: [{ path: '$.data.text', value }] }, name);
  }

  spec(spec: CustomizerSpec, name = 'greet'): void {
    this.customizer(name, ['p'], JSON.stringify({ metadata: { name }, spec }));
  }

  /** The text of the greeting of each shop; undefined if there is none. */
  texts(...shops: string[]): (string | undefined)[] {
    return shops.map((child) => {
      const body = this.body(child, 'greeting');
      return body === undefined ? undefined : (JSON.parse(body) as { data: { text: string } }).data.text;
    });
  }

  attributes(child: string): object {
    const mailbox = this.mailboxOf(child)!;
    return this.store.read((reader) => {
      const row = mailbox.get(reader, hash128(mapKey('greeting')));
      return JSON.parse(asText(mailbox.content(reader, row!.content!).attributes)) as object;
    });
  }

  failures(child: string): string[] {
    return this.customization
      .failures(idOf('p'), child)
      .map(({ path, object, reason, message }) => [path, object, reason, message].join(' | '));
  }
}
