import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppendOnlyMap } from '../../src/domain/append-only-map.ts';

test('adding to a map changes neither the map nor any other map made from it', () => {
  const KEYS = 6;
  const addition = fc.record({ to: fc.nat(20), key: fc.nat(KEYS - 1), value: fc.nat() });
  fc.assert(
    fc.property(fc.array(addition, { maxLength: 30 }), (additions) => {
      const maps = [{ map: AppendOnlyMap.empty<number, number>(), model: new Map<number, number>() }];
      for (const { to, key, value } of additions) {
        const { map, model } = maps[to % maps.length] ?? expect.unreachable();
        maps.push({ map: map.with(key, value), model: model.has(key) ? model : new Map(model).set(key, value) });
      }
      for (const { map, model } of maps) {
        expect(map.size).toBe(model.size);
        for (let key = 0; key < KEYS; key += 1) {
          expect(map.get(key)).toBe(model.get(key));
          expect(map.has(key)).toBe(model.has(key));
        }
      }
    }),
  );
});
