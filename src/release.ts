import manifest from '../package.json' with { type: 'json' };
import { projections } from '../projections/index.ts';
import { generationName } from './read-models/generations.ts';

/**
 * The name of this release: the version of the package, and the generation of the read models that it reads, such as
 * `1.4.0+1a2b3c4d`.
 */
export const RELEASE = `${manifest.version}+${generationName(projections)}`;
