export * from '../../html/formats.ts';
