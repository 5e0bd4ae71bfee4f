"""Descriptions of the files of each protocol for `vlgauge protocol --help`."""

LAYOUTS = {
    "flickr8k_expert": (
        "flickr8k.json: {id: {image_path, ground_truth: [texts],",
        "human_judgement: [{caption, rating}]}}, ratings from 1 to 4",
    ),
    "flickr8k_cf": ("crowdflower_flickr8k.json: the same, ratings from 0 to 1",),
    "composite": (
        "a table (JSONL, CSV, Parquet, ...; in a folder test.parquet) with mt (the",
        "caption), refs (a list of texts), score, imgid (name of the image)",
    ),
    "polaris": ("the same (in a folder polaris_test.csv), ratings from 0 to 1",),
    "nebula": ("the same (in a folder nebula_test.csv), ratings from 0 to 1",),
    "pascal50s": (
        "pair_pascal.mat (new_input, category) and consensus_pascal.mat (triplets);",
        "or pascal_50s.json: {kind: [{image, captions, label, references}]}",
    ),
    "abstract50s": (
        "consensus_abstract.mat (triplets); for metrics of images also",
        "abstract50S.mat (abs_sent)",
    ),
    "foil": (
        "foilv1.0_test_2017.json: {images: [{id, file_name}], annotations: [{id,",
        "image_id, caption, foil}]}; for references also captions_val2014.json of COCO",
    ),
    "vatex_eval": (
        "candidates_list.pkl (n texts), gts_list.pkl (n lists of texts),",
        "human_scores.pkl (3 n ratings), video_ids.pkl (n names of videos)",
    ),
    "activitynet_foil": (
        "final_right_video_sentences.json, final_foil_video_sentences.json: {results:",
        "{id: [{sentence}]}}; anet_entities_test_1.json, for references also",
        "anet_entities_test_2.json: {id: {timestamps: [[start, end]], sentences: [texts]}}",
    ),
    "sdci": (
        "a table (JSONL, Parquet, ...; in a folder test.parquet, or the Arrow files that",
        "datasets saves) with image, captions (texts that grow), neg_captions (as many,",
        "each with a wrong detail)",
    ),
    "hat": (
        "hat-trainval.json: [{caption, references, image_path,",
        "contains_hallucination}], true or false",
    ),
    "nocaps_foil": (
        "nocaps-val-foil.json: [{baseline, foil, references, image_path, domain}],",
        "in-domain, near-domain or out-domain",
    ),
    "thumb": (
        "mscoco_THumB-1.0.jsonl: {hyp, human_score, seg_id, image} in each line; for",
        "references also mscoco_references.json: {seg_id, refs} in each line",
    ),
    "dsg_tifa160": (
        "tifa160-likert-anns.csv (t2i_model, item_id, answer), dsg-1k-anns.csv (item_id,",
        "text, proposition_id, dependency); for the published scores also mplug_dsg.csv,",
        "instructblip_dsg.csv, pali17b_dsg.csv (dsg_prompt_split, t2i_model, item_id,",
        "question_id, answer)",
    ),
    "coco_systems": (
        "COCO's captions: {images: [{id, file_name}], annotations: [{image_id,",
        "caption}]}; and a file per captioner: [{image_id, caption}]",
    ),
}
"""Lines of help text by protocol name."""


def layouts() -> str:
    """Return a paragraph per protocol with its files and their content."""
    width = max(map(len, LAYOUTS)) + 2
    found = ["DATA, as published; a folder that contains the files is accepted, too:"]
    for name, (first, *others) in LAYOUTS.items():
        found += [f"  {name:{width}}{first}", *(f"{'':{width + 2}}{line}" for line in others)]
    return "\n".join(found)
