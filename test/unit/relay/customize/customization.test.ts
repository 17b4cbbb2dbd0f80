import { beforeEach, describe, expect, it } from 'vitest';
import { contributionTopic } from '../../../../relay/work/topics.ts';
import { announced } from '../../../support/schedule-steps.ts';
import { factsOf } from '../support/facts.ts';
import { idOf, mapKey, selecting, source } from '../support/schedule-bench.ts';
import { CustomizeBench } from './customize-bench.ts';

const welcome = 'Welcome to ${{ location.metadata.annotations["store-name"] }}';

describe('customization at the last hop', () => {
  let bench: CustomizeBench;

  /** Since the last call. */
  let contributions: () => string[];

  beforeEach(() => {
    bench = new CustomizeBench();
    contributions = announced(bench.store, contributionTopic);
    bench.shop('one', 'Rivoli');
    bench.shop('two', 'Mitte');
    bench.relay('asia', [{ site: 'shop' }]);
    bench.placement('p', selecting('shop'));
    bench.writeCustomizer(welcome);
    bench.writeConfigMap('plain');
    bench.settle();
  });

  it('gives each agent an object of its own, and a relay the author’s object with the Customizer beside it', () => {
    expect(bench.texts('one', 'two', 'asia')).toEqual(['Welcome to Rivoli', 'Welcome to Mitte', 'plain']);
    expect(bench.mailbox('asia')).toContain('a/edge.banyan.io/customizers/shop/greet');
    expect(bench.mailbox('one')).toEqual(['o/greeting', 't/p']);
  });

  it('evaluates a thousand destinations with three distinct values three times', () => {
    bench.evaluations = 0;
    for (let i = 0; i < 1_000; i++) bench.shop(`store-${i}`, ['Market', 'Plaza', 'Mall'][i % 3]!, { nr: `${i}` });
    bench.settle();
    expect(bench.texts('store-0', 'store-1', 'store-5', 'store-999')).toEqual([
      'Welcome to Market',
      'Welcome to Plaza',
      'Welcome to Mall',
      'Welcome to Market',
    ]);
    expect(bench.evaluations).toBe(3);
  });

  it('evaluates once when an annotation of one Location changes, and touches no other', () => {
    bench.evaluations = 0;
    const before = bench.head('two');
    bench.shop('one', 'Bastille');
    bench.settle();
    expect(bench.texts('one', 'two')).toEqual(['Welcome to Bastille', 'Welcome to Mitte']);
    expect([bench.evaluations, bench.head('two')]).toEqual([1, before]);
  });

  it('evaluates nothing when an unread value changes', () => {
    [bench.evaluations, bench.hits] = [0, 0];
    const before = bench.head('one');
    bench.shop('one', 'Rivoli', { colour: 'red' });
    bench.settle();
    expect([bench.evaluations, bench.hits, bench.head('one')]).toEqual([0, 0, before]);
  });

  it('makes only those objects again that read the changed value', () => {
    bench.writeConfigMap('%(colour)', { expand: true }, 'colour');
    bench.shop('one', 'Rivoli', { colour: 'red' });
    bench.shop('two', 'Mitte', { colour: 'blue' });
    bench.settle();
    [bench.evaluations, bench.hits] = [0, 0];
    bench.shop('one', 'Rivoli', { colour: 'green' });
    bench.settle();
    expect(bench.body('one', 'colour')).toContain('"text":"green"');
    expect([bench.evaluations, bench.hits]).toEqual([1, 0]);
  });

  it('makes only the objects again that use a changed Customizer', () => {
    bench.writeCustomizer('Hi ${{ path }}', 'other');
    bench.writeConfigMap('x', { customizers: ['shop/other'] }, 'second');
    bench.settle();
    [bench.evaluations, bench.hits] = [0, 0];
    bench.writeCustomizer('Hello ${{ location.metadata.annotations["store-name"] }}');
    bench.settle();
    expect(bench.texts('one', 'two')).toEqual(['Hello Rivoli', 'Hello Mitte']);
    expect([bench.evaluations, bench.hits]).toEqual([2, 0]);
  });

  it('makes a changed object again, and shares it when it is no longer customized', () => {
    bench.writeConfigMap('other', {});
    bench.settle();
    expect(bench.texts('one', 'two')).toEqual(['other', 'other']);
    bench.evaluations = 0;
    bench.shop('one', 'Bastille');
    bench.writeCustomizer('Hello');
    bench.settle();
    expect(bench.evaluations).toBe(0);
  });

  it('applies several Customizers in order', () => {
    bench.writeCustomizer('${{ object.data.text }}, ${{ path }}', 'second');
    bench.writeConfigMap('x', { customizers: ['shop/greet', 'shop/second'] });
    bench.settle();
    expect(bench.texts('one')).toEqual(['Welcome to Rivoli, one']);
  });

  it('knows after a start which objects a change concerns', () => {
    bench.start();
    bench.evaluations = 0;
    bench.shop('one', 'Bastille');
    bench.settle();
    expect(bench.texts('one', 'two')).toEqual(['Welcome to Bastille', 'Welcome to Mitte']);
    bench.writeCustomizer('Hello');
    bench.settle();
    expect(bench.texts('one', 'two')).toEqual(['Hello', 'Hello']);
    expect(bench.evaluations).toBe(2);
  });

  it('removes the object with the placement, and gives it again', () => {
    bench.placement('p', selecting('elsewhere'));
    bench.settle();
    expect(bench.texts('one')).toEqual([undefined]);
    bench.shop('one', 'Bastille');
    bench.placement('p', selecting('shop'));
    bench.settle();
    expect(bench.texts('one')).toEqual(['Welcome to Bastille']);
  });

  it('customizes for the first Location by name through which a placement reaches the agent', () => {
    const at = (location: string, site: string, storeName: string) => ({
      location,
      syncTargetUid: 'both',
      labels: { site },
      facts: factsOf(location, { site }, { 'store-name': storeName }),
      evaluate: () => false,
    });
    const destinations = [at('c', 'shop', 'C'), at('b', 'shop', 'B'), at('a', 'depot', 'A')];
    bench.child({ name: 'both', role: 'agent', destinations });
    bench.settle();
    expect(bench.texts('both')).toEqual(['Welcome to B']);
    bench.placement('p', selecting('shop', 'depot'));
    bench.settle();
    expect(bench.texts('both', 'one')).toEqual(['Welcome to A', 'Welcome to Rivoli']);
  });

  describe('that fails', () => {
    const failing = '${{ location.metadata.annotations["no-name"] }}';
    const failed =
      'eu:one | configmaps shop/greeting | CustomizationFailed | Customizer shop/greet: spec.replacements[0].value: no such key: no-name';

    it('leaves the last good object in place, and reports the reason', () => {
      const before = bench.head('one');
      bench.writeCustomizer(failing);
      bench.settle();
      expect(bench.texts('one', 'two')).toEqual(['Welcome to Rivoli', 'Welcome to Mitte']);
      expect(bench.failures('one')).toEqual([failed]);
      expect(bench.head('one')).toBe(before);
      expect(contributions()).toEqual([`${idOf('p')} one`, `${idOf('p')} two`]);
    });

    it('keeps the last good object for the placements that want it now', () => {
      bench.placement('q', selecting('shop'));
      bench.writeCustomizer(failing);
      bench.writeConfigMap('changed', { customizers: ['shop/greet'], generation: 2 }, 'greeting', ['p', 'q']);
      bench.settle();
      expect(bench.attributes('one')).toMatchObject({ refs: ['p', 'q'], generation: 1 });
      bench.writeConfigMap('changed', { customizers: ['shop/greet'], generation: 2 }, 'greeting', ['q']);
      bench.removePlacement('p');
      bench.settle();
      expect(bench.attributes('one')).toMatchObject({ refs: ['q'], generation: 1 });
      expect(bench.texts('one')).toEqual(['Welcome to Rivoli']);
      expect(bench.customization.failures(idOf('q'), 'one')).toHaveLength(1);
    });

    it('ends the report when the customization works again', () => {
      bench.writeCustomizer(failing);
      bench.settle();
      contributions();
      bench.writeCustomizer(welcome);
      bench.settle();
      expect(bench.failures('one')).toEqual([]);
      expect(contributions()).toHaveLength(2);
    });

    it('sends nothing if there was no good object, and counts a failure at exactly these destinations', () => {
      bench.writeCustomizer('${{ location.metadata.labels.colour }}', 'colour');
      bench.writeConfigMap('x', { customizers: ['shop/colour'] }, 'second');
      bench.shop('one', 'Rivoli', { colour: 'red' });
      bench.settle();
      expect(bench.body('one', 'second')).toContain('"text":"red"');
      expect(bench.body('two', 'second')).toBeUndefined();
      expect([bench.failures('one'), bench.failures('two')]).toEqual([
        [],
        [expect.stringContaining('no such key: colour')],
      ]);
      bench.shop('two', 'Mitte', { colour: 'blue' });
      bench.settle();
      expect(bench.body('two', 'second')).toContain('"text":"blue"');
      expect(bench.failures('two')).toEqual([]);
    });

    it('sends a keep entry to an agent if there was no good object here, until none is wanted', () => {
      bench.writeCustomizer('${{ location.metadata.labels.colour }}', 'colour');
      bench.writeConfigMap('x', { customizers: ['shop/colour'] }, 'second');
      bench.settle();
      expect(bench.mailbox('two')).toContain('k/second');
      const before = bench.head('two');
      bench.start();
      bench.mark('child', 'two');
      bench.settle();
      expect(bench.head('two')).toBe(before);
      bench.shop('two', 'Mitte', { colour: 'blue' });
      bench.settle();
      expect(bench.mailbox('two')).toContain('o/second');
      expect(bench.mailbox('one')).toContain('k/second');
      bench.removeObject('second');
      bench.settle();
      for (const shop of ['one', 'two']) expect(bench.mailbox(shop)).toEqual(['o/greeting', 't/p']);
    });

    it('removes the keep entry with the placement', () => {
      bench.writeConfigMap('x', { customizers: ['shop/none'] }, 'second');
      bench.settle();
      expect(bench.mailbox('one')).toContain('k/second');
      bench.removePlacement('p');
      bench.settle();
      expect(bench.mailbox('one')).toEqual([]);
    });

    it('is known after a start', () => {
      bench.writeCustomizer(failing);
      bench.settle();
      bench.start();
      expect(bench.failures('one')).toEqual([failed]);
      bench.writeCustomizer(welcome);
      bench.settle();
      expect(bench.failures('one')).toEqual([]);
    });

    it('is forgotten with the object and with the agent', () => {
      bench.writeCustomizer(failing);
      bench.settle();
      bench.leave('one');
      bench.settle();
      expect(bench.failures('one')).toEqual([]);
      bench.removeObject('greeting');
      bench.settle();
      expect([bench.texts('two'), bench.failures('two')]).toEqual([[undefined], []]);
    });

    it('because of a missing Customizer holds the object back until there is one', () => {
      bench.writeConfigMap('x', { customizers: ['shop/later'] });
      bench.settle();
      expect(bench.texts('one')).toEqual(['Welcome to Rivoli']);
      expect(bench.failures('one')).toEqual([
        "eu:one | configmaps shop/greeting | CustomizerNotFound | there is no Customizer shop/later in the namespace of the object; create it, or take its name from the object's annotation or the placement's rule",
      ]);
      bench.writeCustomizer('Late ${{ path }}', 'later');
      bench.settle();
      expect([bench.texts('one'), bench.failures('one')]).toEqual([['Late one'], []]);
      bench.removeCustomizer('later');
      bench.settle();
      expect([bench.texts('one'), bench.failures('one')]).toEqual([
        ['Late one'],
        [expect.stringContaining('CustomizerNotFound')],
      ]);
    });

    it.each([
      ['a/b/c', 'has more than one "/"'],
      ['shop/', 'a lowercase RFC 1123 subdomain'],
    ])('because of a Customizer %s, an impossible name, reports this', (name, wrong) => {
      bench.writeConfigMap('x', { customizers: [name] });
      bench.settle();
      expect(bench.failures('one')).toEqual([
        expect.stringContaining(`no Customizer can have the name ${name}: ${wrong}`),
      ]);
    });

    it('because of a Customizer that no admission has checked reports its error', () => {
      bench.writeCustomizer('${{ nothing }}');
      bench.settle();
      expect(bench.failures('one')).toEqual([
        expect.stringContaining('Customizer shop/greet: spec.replacements[0].value:'),
      ]);
    });

    it('shows at most ten failures of a destination', () => {
      for (let i = 0; i < 20; i++) bench.writeConfigMap('x', { customizers: ['shop/none'] }, `map-${i}`);
      bench.settle();
      expect(bench.failures('one')).toHaveLength(10);
    });
  });

  it('raises the revisions of the rows made for an agent that may have another form of them from a later write', () => {
    bench.object('plain', ['p'], '{}');
    bench.settle();
    const revisions = () => ['greeting', 'plain'].map((name) => bench.originRevision('one', mapKey(name)));
    const [made, shared] = revisions();
    const texts = bench.texts('one');
    const raise = (covered: number, ...children: string[]) =>
      bench.store.write((t) => bench.customization.raiseRevisions(t, children, { [source]: covered }));
    expect(raise(1_000, 'one')).toBe(1);
    expect([revisions(), bench.texts('one')]).toEqual([[1_000, shared], texts]);
    // Never lowers a revision, and writes nothing for a child that is not there.
    expect(raise(made!, 'one')).toBe(1);
    expect(raise(2_000, 'nobody')).toBe(1);
    expect(revisions()).toEqual([1_000, shared]);
  });

  it('raises in one turn the revisions for as many agents as have some hundred rows, and for an agent with more alone', () => {
    for (let i = 0; i < 300; i++) bench.writeConfigMap('x', undefined, `map-${i}`);
    bench.shop('three', 'x');
    bench.settle();
    const all = ['one', 'two', 'three'];
    const raise = (covered: number, children: string[]) =>
      bench.store.write((t) => bench.customization.raiseRevisions(t, children, { [source]: covered }));
    const of = (child: string) => bench.originRevision(child, mapKey('map-7'));
    expect(raise(5_000, all)).toBe(2);
    expect([of('one'), of('two')]).toEqual([5_000, 5_000]);
    expect(of('three')).toBeLessThan(5_000);
    expect(raise(5_000, all)).toBe(3);
    expect(of('three')).toBe(5_000);
    for (let i = 300; i < 600; i++) bench.writeConfigMap('x', undefined, `map-${i}`);
    bench.settle();
    expect(raise(9_000, all)).toBe(1);
  });

  it('leaves work that costs too much for one step to the next, and finishes', () => {
    const loop = `\${{ string(${Array.from({ length: 4 }, (_, i) => `[1,2,3,4,5,6,7,8,9,0].map(v${i}, `).join('')}path${')'.repeat(4)}.size()) }}`;
    bench.writeCustomizer(loop);
    for (let i = 0; i < 100; i++) bench.shop(`store-${i}`, 'x');
    const steps = bench.settle();
    expect(bench.texts('store-0', 'store-99')).toEqual(['10', '10']);
    expect(steps.length).toBeGreaterThan(2);
    expect(steps.length).toBeLessThan(60);
    expect(bench.mailbox('store-99').at(-1)).toBe('t/p');
  });

  it('makes no object of a custom kind that its definition refuses', () => {
    const spec = { type: 'object', properties: { rows: { type: 'integer', maximum: 3 } } };
    const version = { name: 'v1', served: true, storage: true };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    const definition = {
      metadata: { name: 'boards.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'boards', kind: 'Board' },
        versions: [{ ...version, schema }],
      },
    };
    const board = {
      metadata: { name: 'b', namespace: 'shop' },
      apiVersion: 'example.com/v1',
      kind: 'Board',
      spec: { rows: 1 },
    };
    bench.spec({ replacements: [{ path: '$.spec.rows', value: '${{ size(path) }}' }] }, 'board');
    bench.shop('three', 'x');
    const refs = ['p'];
    bench.row(
      `o/${source}/apiextensions.k8s.io/customresourcedefinitions//boards.example.com`,
      { refs },
      JSON.stringify(definition),
    );
    bench.row(`o/${source}/example.com/boards/shop/b`, { refs, customizers: ['shop/board'] }, JSON.stringify(board));
    bench.settle();
    expect(bench.failures('one')).toEqual([]);
    expect(bench.failures('three')).toEqual([
      expect.stringContaining(
        'boards.example.com shop/b | CustomizationFailed | the result: spec.rows: Invalid value: 5',
      ),
    ]);
  });
});
